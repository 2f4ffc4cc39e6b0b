"""What is wrong with files of runs, judgments and topics, by any rules and by those of a track."""
