"""Judge in the browser: the database of judgments, the server and its pages."""
