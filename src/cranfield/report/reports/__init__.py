"""The reports of runs, A/B tests, audits of machine judges, campaigns and studies."""
