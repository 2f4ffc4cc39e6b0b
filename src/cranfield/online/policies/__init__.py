"""Off-policy estimates: how would a new system do, judged by a log that another system made?"""

from __future__ import annotations

from cranfield.online.policies.off_policy import off_policy as off_policy
from cranfield.online.policies.policy_estimates import OffPolicy as OffPolicy
from cranfield.online.policies.position_policies import off_policy_runs as off_policy_runs

__all__ = ["OffPolicy", "off_policy", "off_policy_runs"]
