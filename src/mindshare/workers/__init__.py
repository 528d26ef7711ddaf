"""Who answers when one process is not enough: several on this machine, or many machines.

Every door here is an `Answering` with a `respondent`; results come back to whoever asked, which
alone writes them. Knows jobs and answers, not prompts, tables or stores.
"""

from mindshare.study.respondent import Answerer
from mindshare.workers.answering import Place, answering_for
from mindshare.workers.spec import ModelSpec

__all__ = ["Answerer", "ModelSpec", "Place", "answering_for"]
