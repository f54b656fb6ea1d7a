"""The terms of documents, posting by posting."""


def gather(first, lists, wanted, slots, out, n):
    items, counts, begins, ends = lists
    for t, (low, high) in enumerate(zip(begins, ends, strict=True)):
        for j in range(low, high):
            if items[j] in wanted.tolist():
                out[n] = wanted.tolist().index(items[j]), first + t, counts[j]
                n += 1
    return n
