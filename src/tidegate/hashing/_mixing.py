"""Mix pairs of words into states, in place. The specification is in `rows.py`, sections "Mixing" and "Names"."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

HASH_VERSION = 1

Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Pair: TypeAlias = tuple[Words, Words]


class Permutation(NamedTuple):
    """x ^= x >> a; x *= m; x ^= x >> b; x *= n; x ^= x >> c"""

    a: np.uint64
    m: np.uint64
    b: np.uint64
    n: np.uint64
    c: np.uint64

    def apply(self, words: Words) -> None:
        """Permute every word in place."""
        words ^= words >> self.a
        words *= self.m
        words ^= words >> self.b
        words *= self.n
        words ^= words >> self.c


PERMUTATIONS = (
    Permutation(*map(np.uint64, (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33))),
    Permutation(*map(np.uint64, (30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31))),
)


def permute(state: Pair) -> None:
    """Permute both lanes in place."""
    for lane, permutation in zip(state, PERMUTATIONS, strict=True):
        permutation.apply(lane)


def absorb(state: Pair, pair: Pair) -> None:
    """Mix a pair into the state, in place."""
    for lane, words in zip(state, pair, strict=True):
        np.bitwise_xor(lane, words, out=lane)
    permute(state)


@lru_cache
def constants(name: str) -> tuple[np.uint64, np.uint64]:
    """Return K(name), the constant that tags values of one meaning, such as `int` or `date`."""
    digest = hashlib.blake2b(f"tidegate/{HASH_VERSION}/{name}".encode(), digest_size=16).digest()
    lane0, lane1 = np.frombuffer(digest, np.uint64)
    return lane0, lane1


def tag(name: str, lane0: Words, lane1: Words | None = None) -> Pair:
    """Return a pair tagged with a name. Without `lane1` the words of `lane0` are used in both lanes."""
    constant0, constant1 = constants(name)
    return lane0 ^ constant0, (lane0 if lane1 is None else lane1) ^ constant1


def replace_pairs(pair: Pair, rows: Mask | npt.NDArray[np.intp], values: Pair | tuple[np.uint64, np.uint64]) -> None:
    """Replace the pairs of some rows, selected by a mask or by row number, in place."""
    for lane, words in zip(pair, values, strict=True):
        lane[rows] = words
