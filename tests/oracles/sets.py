"""Sets as Python has them."""


def _written(found, out):
    for place, value in enumerate(sorted(found)):
        out[place] = value
    return len(found)


def intersect(a, b, out):
    return _written(set(a.tolist()) & set(b.tolist()), out)


def unite(a, b, out):
    return _written(set(a.tolist()) | set(b.tolist()), out)


def subtract(a, b, out):
    return _written(set(a.tolist()) - set(b.tolist()), out)
