"""The server of a judging project: its pages, and who may reach them."""
