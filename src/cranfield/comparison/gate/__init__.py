"""A gate for builds: does a candidate pass, and if not, why?"""

from cranfield.comparison.gate.gate import gate, gate_scores
from cranfield.comparison.gate.gate_checks import GateCheck, GateResult

__all__ = ["GateCheck", "GateResult", "gate", "gate_scores"]
