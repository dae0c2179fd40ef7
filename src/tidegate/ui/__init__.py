"""The live page: a small server that watches a project and shows it in a browser. It changes nothing."""
