"""Self-contained HTML pages: tables that sort and filter, one style, one script, and no request to any server."""
