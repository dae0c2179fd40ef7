"""The warm engine: a local Spark Connect server that stays between commands, for one user and one installation."""
