"""Words for tests: a `Witness` on a server, and a run without a JVM."""
