"""What is known: state, the ledger in the target, the lock."""
