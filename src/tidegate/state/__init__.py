"""What is known: evidence, the ledger in the target, the lock."""
