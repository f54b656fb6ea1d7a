// The passes of preference_gpu.py. A visit is a group (a document's label over all
// others) of a batch; its rivals are the labels that have a dual or get one.

#define LARGEST_FLOAT 3.402823466e+38f

// S[b, r] = <w_r, x>, four labels a thread.
extern "C" __global__ void scores(const int* documents, const long long* starts,
    const int* columns, const float* values, const float4* W, const int pitch, float4* S) {
  const int label = blockIdx.y * blockDim.x + threadIdx.x;
  if (label >= pitch) return;
  const int document = documents[blockIdx.x];
  const long long last = starts[document + 1];
  float4 sum = {0, 0, 0, 0};
  #pragma unroll 8
  for (long long at = starts[document]; at < last; ++at) {
    const float value = values[at];
    const float4 w = W[(long long)columns[at] * pitch + label];
    sum.x += value * w.x; sum.y += value * w.y;
    sum.z += value * w.z; sum.w += value * w.w;
  }
  S[(long long)blockIdx.x * pitch + label] = sum;
}

struct Best { float score; int label; };

__device__ Best better(Best a, Best b) {
  return b.score > a.score || (b.score == a.score && b.label < a.label) ? b : a;
}

// The best of all threads' bests; every thread has the answer.
__device__ Best best_of_all(Best own) {
  __shared__ Best shared[32];
  for (int step = 16; step; step /= 2) {
    const Best other = {__shfl_down_sync(~0u, own.score, step),
                        __shfl_down_sync(~0u, own.label, step)};
    own = better(own, other);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  own = shared[0];
  for (int i = 1; i < blockDim.x / 32; ++i) own = better(own, shared[i]);
  return own;
}

__device__ Best best_of_mine(const float* S, const int labels) {
  Best best = {-LARGEST_FLOAT, labels};
  for (int r = threadIdx.x; r < labels; r += blockDim.x)
    best = better(best, {S[r], r});
  return best;
}

// The exact step of one group within its rivals: new_duals = max(0, d - theta), the
// most violated first, d = (1 - s_y + s_r) / |x|^2 without its own duals.
// totals[0] += cap * slack before the step; learn = 0: no more than that.
extern "C" __global__ void visit(const int* groups, const int* document_of,
    const int* label_of, const long long* own_starts, const int* own_labels,
    const float* caps, const float* squares, const float least, const int most,
    const int labels, const int pitch, const int learn,
    float* all_scores,
    const int* kept_labels, const float* kept_duals, int* rivals, int* counts,
    float* old_duals, float* new_duals, float* rival_scores, float* favoured,
    double* totals) {
  __shared__ int rival[ROOM], count, chosen, full;
  __shared__ float a[ROOM], s[ROOM], d[ROOM], sum, theta, sum_a;
  const int group = groups[blockIdx.x], document = document_of[group];
  float* S = all_scores + (long long)blockIdx.x * pitch;
  const int y = label_of[group];
  const float s_y = S[y], cap = caps[group], square = squares[document];
  __syncthreads();
  if (threadIdx.x == 0) {
    count = chosen = full = 0; sum = theta = sum_a = 0;
    for (int i = 0; i < ROOM; ++i) {
      const float dual = kept_duals[(long long)group * ROOM + i];
      if (dual <= 0) continue;
      const int r = kept_labels[(long long)group * ROOM + i];
      rival[count] = r; a[count] = dual; s[count] = S[r]; d[count] = 0;
      sum_a += dual; ++count;
    }
  }
  for (long long i = own_starts[document] + threadIdx.x; i < own_starts[document + 1];
       i += blockDim.x)
    S[own_labels[i]] = -LARGEST_FLOAT;
  __syncthreads();
  const Best worst = best_of_all(best_of_mine(S, labels));
  const float slack = 1 - s_y + worst.score;
  if (threadIdx.x == 0 && slack > 0 && worst.score > -LARGEST_FLOAT)
    atomicAdd(totals, (double)cap * slack);
  if (!learn) return;
  if (threadIdx.x < count) S[rival[threadIdx.x]] += a[threadIdx.x] * square;
  __syncthreads();
  Best mine = best_of_mine(S, labels);
  const float base = 1 - s_y + sum_a * square;
  while (!full && chosen < most) {
    const Best best = best_of_all(mine);
    const float distance = (base + best.score) / square;
    if (best.score == -LARGEST_FLOAT || distance <= theta + least / square) break;
    __syncthreads();
    if (threadIdx.x == 0) {
      int i = 0;
      while (i < count && rival[i] != best.label) ++i;
      full = i == ROOM;
      if (!full) {
        if (i == count) { rival[i] = best.label; a[i] = 0; s[i] = best.score; ++count; }
        d[i] = distance; sum += distance; ++chosen;
        theta = fmaxf(sum / (chosen + 1), (sum - cap) / chosen);
      }
    }
    if (best.label % blockDim.x == threadIdx.x) {
      S[best.label] = -LARGEST_FLOAT;
      mine = best_of_mine(S, labels);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && full) {  // no room for another rival: those there are
    for (; chosen < most; ++chosen) {
      int next = -1;
      for (int i = 0; i < count; ++i)
        if (!d[i] && (next < 0 || s[i] + a[i] * square > s[next] + a[next] * square))
          next = i;
      if (next < 0) break;
      const float distance = (base + s[next] + a[next] * square) / square;
      if (distance <= theta) break;
      d[next] = distance; sum += distance;
      theta = fmaxf(sum / (chosen + 2), (sum - cap) / (chosen + 1));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float now = 0, gain = 0;
    const long long first = (long long)blockIdx.x * ROOM;
    for (int i = 0; i < count; ++i) {
      const float b = d[i] > 0 ? fmaxf(0, d[i] - theta) : 0;
      rivals[first + i] = rival[i];
      old_duals[first + i] = a[i]; new_duals[first + i] = b;
      rival_scores[first + i] = s[i];
      now += b; gain += (b - a[i]) * s[i];
    }
    const float change = now - sum_a;
    counts[blockIdx.x] = count;
    favoured[2 * blockIdx.x] = change; favoured[2 * blockIdx.x + 1] = s_y;
    atomicAdd(totals + 1, (double)(change * (1 - s_y) + gain));
  }
}

// What entry e of a visit changes: the label that is favoured (e = count) or a rival.
struct Change { int label; float coefficient, score; };

__device__ Change change_of(const int e, const int b, const int count, const int y,
    const int* rivals, const float* old_duals, const float* new_duals,
    const float* rival_scores, const float* favoured) {
  if (e == count) return {y, favoured[2 * b], favoured[2 * b + 1]};
  const long long at = (long long)b * ROOM + e;
  return {rivals[at], old_duals[at] - new_duals[at], rival_scores[at]};
}

// How much of the step of a batch raises the dual value most.
__device__ float pace_of(const double* totals) {
  const double slope = fmax(totals[1], 0.0);
  return totals[2] > slope ? (float)(slope / totals[2]) : 1;
}

// W += pace * changes; pace is 1, or totals say how much of the step is taken back.
extern "C" __global__ void scatter(const int* groups, const int* document_of,
    const int* label_of, const long long* starts, const int* columns,
    const float* values, const int* rivals, const int* counts, const float* old_duals,
    const float* new_duals, const float* rival_scores, const float* favoured,
    const double* totals, const int back, const long long pitch, float* W) {
  float pace = 1;
  if (back) {
    pace = pace_of(totals) - 1;
    if (pace == 0) return;
  }
  const int group = groups[blockIdx.x], document = document_of[group];
  const int count = counts[blockIdx.x];
  const long long first = starts[document];
  const int words = (int)(starts[document + 1] - first);
  for (int i = threadIdx.x; i < words * (count + 1); i += blockDim.x) {
    const Change change = change_of(i / words, blockIdx.x, count, label_of[group],
        rivals, old_duals, new_duals, rival_scores, favoured);
    const long long at = first + i % words;
    if (change.coefficient != 0)
      atomicAdd(W + columns[at] * pitch + change.label,
                pace * values[at] * change.coefficient);
  }
}

// totals[2] += |what the batch has changed|^2, by the scores it has moved.
extern "C" __global__ void moved(const int* groups, const int* document_of,
    const int* label_of, const long long* starts, const int* columns,
    const float* values, const int* rivals, const int* counts, const float* old_duals,
    const float* new_duals, const float* rival_scores, const float* favoured,
    double* totals, const long long pitch, const float* W) {
  const int group = groups[blockIdx.x], document = document_of[group];
  const int count = counts[blockIdx.x], lane = threadIdx.x % 32;
  for (int e = threadIdx.x / 32; e <= count; e += blockDim.x / 32) {
    const Change change = change_of(e, blockIdx.x, count, label_of[group],
        rivals, old_duals, new_duals, rival_scores, favoured);
    if (change.coefficient == 0) continue;
    float score = 0;
    for (long long at = starts[document] + lane; at < starts[document + 1]; at += 32)
      score += values[at] * W[columns[at] * pitch + change.label];
    for (int step = 16; step; step /= 2) score += __shfl_down_sync(~0u, score, step);
    if (lane == 0)
      atomicAdd(totals + 2, (double)change.coefficient * (score - change.score));
  }
}

// The duals after the step, as far as it was taken.
extern "C" __global__ void keep(const int* groups, const int* rivals, const int* counts,
    const float* old_duals, const float* new_duals, const double* totals,
    int* kept_labels, float* kept_duals) {
  const float pace = pace_of(totals);
  const long long to = (long long)groups[blockIdx.x] * ROOM;
  const long long from = (long long)blockIdx.x * ROOM;
  for (int i = threadIdx.x; i < ROOM; i += blockDim.x) {
    const bool used = i < counts[blockIdx.x];
    kept_labels[to + i] = used ? rivals[from + i] : 0;
    kept_duals[to + i] = used ? old_duals[from + i]
        + pace * (new_duals[from + i] - old_duals[from + i]) : 0;
  }
}
