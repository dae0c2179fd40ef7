"""Read decimals as pairs of residues. The specification is in `rows.py`, section "Values".

A number is cut into limbs of 32 bits, and its residue is the sum of the limbs times their weights. The scale is part
of the weights, so no zeros have to be stripped. 10 has an inverse modulo 2^k - 1 unless 4 divides k, and four products
of 32 and 30 bits fit into a word: k < 60.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidegate.hashing._mixing import Pair, Words, tag

RESIDUE_BITS = (59, 58)


class Weights(NamedTuple):
    """The values of four limbs modulo 2^bits - 1, each as low + high * 2^30."""

    low: list[np.uint64]
    high: list[np.uint64]
    bits: int


def read_decimals(column: pa.Array) -> Pair:
    if column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    size = column.type.bit_width // 64
    words = np.frombuffer(column.buffers()[1], np.uint64, len(column) * size, column.offset * size * 8)
    limbs = _split_into_limbs(words.reshape(-1, size))
    lane0, lane1 = (_residues(limbs, column.type.scale, bits) for bits in RESIDUE_BITS)
    return tag("decimal", lane0, lane1)


def _split_into_limbs(words: Words) -> list[Words]:
    """Return the limbs, the lowest first.

    The sign bit is flipped, which adds a constant to every number and leaves no negative ones."""
    limbs = []
    for word in range(words.shape[1]):
        limbs += [words[:, word] & np.uint64(2**32 - 1), words[:, word] >> np.uint64(32)]
    limbs[-1] ^= np.uint64(2**31)
    return limbs


def _residues(limbs: list[Words], scale: int, bits: int) -> Words:
    modulus = 2**bits - 1
    unit = pow(10, -scale, modulus)
    flipped_sign = 2 ** (32 * len(limbs) - 1) * unit
    residues = np.full(len(limbs[0]), -flipped_sign % modulus, np.uint64)
    for first in range(0, len(limbs), 4):
        weights = _weights(unit * 2 ** (32 * first) % modulus, bits)
        residues += _weighted_sum(limbs[first : first + 4], weights)
    residues %= np.uint64(modulus)
    return residues


@lru_cache
def _weights(unit: int, bits: int) -> Weights:
    weights = [unit * 2 ** (32 * limb) % (2**bits - 1) for limb in range(4)]
    return Weights([np.uint64(w % 2**30) for w in weights], [np.uint64(w >> 30) for w in weights], bits)


def _weighted_sum(limbs: list[Words], weights: Weights) -> Words:
    """Return the sum of the limbs times their weights, folded below 2^(bits + 2) but not reduced."""
    low, high = limbs[0] * weights.low[0], limbs[0] * weights.high[0]
    for limb, low_weight, high_weight in zip(limbs[1:], weights.low[1:], weights.high[1:], strict=True):
        low += limb * low_weight
        high += limb * high_weight
    # 2^bits equals 1 modulo 2^bits - 1, so the bits above are added again at the low end.
    high_bits = weights.bits - 30
    folded: Words = low & np.uint64(2**weights.bits - 1)
    folded += low >> np.uint64(weights.bits)
    folded += (high & np.uint64(2**high_bits - 1)) << np.uint64(30)
    folded += high >> np.uint64(high_bits)
    return folded
