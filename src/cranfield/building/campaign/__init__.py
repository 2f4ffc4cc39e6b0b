"""Run an evaluation campaign: teams, submitted runs, phases, pool, leaderboard, and the files of all of it."""
