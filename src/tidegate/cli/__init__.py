"""The command line. Commands call `api` and pass the result to an `Output`; they decide nothing themselves."""
