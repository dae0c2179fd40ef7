"""Buckets: rows of both sides are put together by the hash of their key, and each bucket is compared by itself."""
