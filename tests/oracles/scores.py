"""The slow, obvious version of each kernel of scores."""


def scores_of(columns, values, W, out):
    out[:] = [
        sum(v * W[c, r] for c, v in zip(columns, values, strict=True))
        for r in range(W.shape[1])
    ]


def add_to_rows(columns, values, W, delta, changed, n_changed):
    for c, v in zip(columns, values, strict=True):
        for r in changed[:n_changed]:
            W[c, r] += v * delta[r]


def square(values):
    return sum(float(v) ** 2 for v in values)


def dot(columns, values, w):
    return sum(v * w[c] for c, v in zip(columns, values, strict=True))


def add(columns, values, step, w):
    for c, v in zip(columns, values, strict=True):
        w[c] += step * v


def shuffle(order, n, seed):
    for k in range(n - 1):
        seed = seed * 48271 % (2**31 - 1)
        other = k + seed * (n - k) // (2**31 - 1)
        order[k], order[other] = order[other], order[k]
    return seed


def fill(out, value):
    out[:] = value


def sort_by(keys, order, n):
    order[:n] = sorted(order[:n], key=lambda item: keys[item])


def kth_largest(values, n, k):
    return sorted(values[:n], reverse=True)[k - 1]
