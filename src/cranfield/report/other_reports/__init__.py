"""Reports of A/B tests, audits of machine judges, campaigns and studies, with the same page as that of runs."""
