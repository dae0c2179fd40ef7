"""What each contender does, as a program of its own: a job as JSON in, facts as JSON out. They share no code."""
