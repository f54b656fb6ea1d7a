"""The slow, obvious version of each kernel of the text room."""

from classmark.text import words


def mix(word):
    """Two xor-shifts and a multiplication, modulo 2⁶⁴, in Python's integers."""
    mixed = ((word ^ (word >> 32)) * 0x9E3779B97F4A7C15) % 2**64
    return mixed ^ (mixed >> 29)


def lower_word(word):
    """``bytes.lower`` changes ASCII letters only."""
    return int.from_bytes(word.to_bytes(8, "little").lower(), "little")


def find_tokens(text):
    """Each token's bytes, with its key."""
    found = [token.encode() for token in words(text)]
    return [(token, key(token)) for token in found]


def key(token):
    """Pack a short token; mix the words of a long one."""
    if len(token) < 8:
        return int.from_bytes(token, "little")
    mixed, rest = 0, token
    while len(rest) > 7:
        mixed = mix(mixed ^ int.from_bytes(rest[:8], "little"))
        rest = rest[8:]
    return mix(mixed ^ int.from_bytes(rest, "little")) | 0xFF << 56
