"""The command line. Commands call the api and hand the result to an output; they hold no thought of their own."""
