"""Look-up of words, slowly."""


def split(words):
    """Return the words of a run of bytes, a newline after each."""
    return bytes(words).split(b"\n")[:-1]


def hash_words(words, hashes, bounds):
    found, at = split(words), 0
    bounds[0] = 0
    for i, word in enumerate(found[: len(hashes)]):
        h = 2166136261
        for byte in word:
            h = (h ^ byte) * 16777619 % 2**32
        hashes[i] = h ^ (h >> 15)
        at += len(word) + 1
        bounds[i + 1] = at
    return len(found)


def copy_words(words, bounds, order, out):
    found = split(words)
    out[:] = list(b"".join(found[i] + b"\n" for i in order))


def enter_words(hashes, slots):
    for number, h in enumerate(hashes):
        at = int(h) % len(slots)
        while slots[at]:
            at = (at + 1) % len(slots)
        slots[at] = number + 1


def find_words(hashes, words, bounds, table, out):
    known = {word: number for number, word in enumerate(split(table[1]))}
    for i, word in enumerate(split(words)):
        out[i] = known.get(word, -1)
