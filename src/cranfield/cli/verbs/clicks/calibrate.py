"""`cranfield clicks calibrate`: estimate the parameters of a measure from a log."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, argument, flag, option
from cranfield.cli.options.log_options import LOG, LogOfTopics
from cranfield.cli.printing import Printing


class CalibrateVerb(LogOfTopics, Printing, of="online.calibration.calibrate:calibrate"):
    """Estimate the parameters of a measure from a log of clicks, and print the measure's name for -m.

    RBP gets its persistence from where readers made their last click, ERR its probabilities of stopping by grade, TBG
    its times and half-life, U the text that readers get through, MP the moves between clicked ranks. uPBM, uUBM, uDCM,
    uCCM, uDBN, uSDBN, rrDCM, rrCCM, rrDBN, rrSDBN and EBU get the parameters of their click model, averaged by grade.
    ERR, TBG and the click measures need judgments. Intervals are over users; those of click models over topics.
    docs/calibration.md says how each parameter is estimated.
    """

    summary = "estimate a measure's parameters from a log"
    examples = """
cranfield clicks calibrate log/ --measure RBP
cranfield clicks calibrate log/ qrels.txt --measure ERR --topics topics.tsv
cranfield clicks calibrate log/ qrels.txt --measure uDBN --topics topics.tsv
cranfield clicks calibrate log/ --measure MP --timed --moves moves.tsv
cranfield clicks calibrate queries.jsonl qrels.txt --events events.jsonl --measure TBG --lengths lengths.tsv
"""

    log: str = argument("LOG", LOG, required=True)
    qrels: str | None = argument("QRELS", "The judgments, for measures with parameters by grade.", reads=True)
    measure: str = option(
        "--measure, -m MEASURE", "The measure: {names}.", default="RBP", names="online.calibration.calibrate:MEASURES"
    )
    lengths: str | None = option(
        "--lengths FILE", "Lengths of documents, for TBG (words) and U (characters).", reads=True
    )
    moves: str | None = option("--moves FILE", "MP: write the moves, for MP(transitions=FILE).", group=RESULT)
    name_only: bool = flag("--name-only", "Print only the name of the measure.", group=RESULT)

    def run(self) -> None:
        from cranfield.collection.qrels import Qrels
        from cranfield.errors import UsageError
        from cranfield.online.calibration import calibrate

        if self.moves and self.measure != "MP":
            raise UsageError(f"--moves is for MP, and {self.measure} has no moves")
        judgments = None if self.qrels is None else Qrels.read(self.qrels).to_dict()
        log = self.read_tables(self.log, engine=self.open_engine())
        result = calibrate(
            log, self.measure, judgments, topics=self.topic_texts(), lengths=self._lengths(), **self.settings()
        )
        if self.moves:
            from cranfield.cli.printing import emit

            emit(result.moves_text(), self.moves)
        if self.name_only:
            self.emit(result.name)
        else:
            self.show_record(result)

    def _lengths(self) -> dict[str, float] | None:
        if self.lengths is None:
            return None
        from cranfield.assessed.lengths import LengthTable

        table = LengthTable.of(self.lengths)
        unit = "words" if self.measure == "TBG" else "characters"
        column = table.columns.get(unit, table.columns.get("length"))
        if column is None:
            from cranfield.errors import DataError

            raise DataError(self.lengths, None, f"no column of {unit}, which {self.measure} needs")
        return dict(zip(table.documents, column.tolist(), strict=True))
