"""Slow, obvious versions of the packing kernels."""

import numpy as np

BLOCK, PATCHED = 128, 8


def bits_of(value, width):
    """The lowest bit first."""
    return [value >> i & 1 for i in range(width)]


def block_bits(values):
    """One block as a list of bits: the narrowest choice, the wider of equals."""
    most = max(value.bit_length() for value in values)
    choices = []
    for width in range(most, -1, -1):
        wider = [i for i, value in enumerate(values) if value >> width]
        extra = most - width if wider else 0
        cost = len(values) * width + (7 if wider else 0) + len(wider) * (7 + extra)
        if not wider or (len(values) >= PATCHED and len(wider) < BLOCK):
            choices.append((cost, -width, wider, extra))
    _, width, wider, extra = min(choices)
    width = -width
    bits = bits_of(width, 6)
    if len(values) >= PATCHED:
        bits += bits_of(extra, 6)
        if extra:
            bits += bits_of(len(wider), 7)
    for value in values:
        bits += bits_of(value, width)
    for i in wider:
        bits += bits_of(i, 7) + bits_of(values[i] >> width, extra)
    return bits


def to_bytes(bits):
    return np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()


def encode_blocks(columns):
    """Columns of equal length, block by block, each block beginning at a byte."""
    found = b""
    for begin in range(0, len(columns[0]), BLOCK):
        bits = []
        for column in columns:
            bits += block_bits(column[begin : begin + BLOCK])
        found += to_bytes(bits)
    return found


def read_block(bits, at, n):
    def number(width):
        nonlocal at
        value = sum(int(bit) << i for i, bit in enumerate(bits[at : at + width]))
        at += width
        return value

    width = number(6)
    extra = number(6) if n >= PATCHED else 0
    wider = number(7) if extra else 0
    values = [number(width) for _ in range(n)]
    for _ in range(wider):
        place = number(7)
        values[place] |= number(extra) << width
    return values, at


def decode_blocks(content, length, columns):
    bits = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
    found, at = [[] for _ in range(columns)], 0
    for begin in range(0, length, BLOCK):
        for column in found:
            values, at = read_block(bits, at, min(BLOCK, length - begin))
            column.extend(values)
        at = -(-at // 8) * 8
    return found


def encode_values(values, begins, ends):
    """The bytes of each list."""
    lists = [
        values[begin:end].tolist() for begin, end in zip(begins, ends, strict=True)
    ]
    return [encode_blocks([listed]) if listed else b"" for listed in lists]


def decode_values(content, starts, lengths):
    pairs = zip(starts, lengths, strict=True)
    return [decode_blocks(content[start:], length, 1)[0] for start, length in pairs]


def encode_lists(lists):
    """Lists of (item, count) pairs: the bytes of each, and Σ counts."""
    packed, totals = [], []
    for pairs in lists:
        items = [item for item, _ in pairs]
        gaps = [b - a - 1 for a, b in zip([-1, *items], items, strict=False)]
        counts = [count - 1 for _, count in pairs]
        packed.append(encode_blocks([gaps, counts]) if pairs else b"")
        totals.append(sum(count for _, count in pairs))
    return packed, totals


def decode_lists(content, starts, frequencies):
    lists = []
    for start, length in zip(starts, frequencies, strict=True):
        gaps, counts = decode_blocks(content[start:], length, 2)
        items = np.cumsum([gap + 1 for gap in gaps]) - 1
        lists.append([(int(i), c + 1) for i, c in zip(items, counts, strict=True)])
    return lists
