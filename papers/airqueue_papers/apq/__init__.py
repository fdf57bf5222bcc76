"""APQ: measuring an access point's queue from outside, seven devices, and how large one should be.

Each device is simulated as an 802.11 cell whose access point has the printed capacity. Agreement on
the capacity is by construction; agreement on delays and throughputs is not.
"""

from airqueue_papers.apq.devices import ITEMS as _DEVICES
from airqueue_papers.apq.discussion import ITEMS as _DISCUSSION
from airqueue_papers.apq.host_ap import ITEMS as _HOST_AP
from airqueue_papers.apq.validation import ITEMS as _VALIDATION
from airqueue_papers.item import Paper

PAPER = Paper("apq", (*_VALIDATION, *_DEVICES, *_DISCUSSION, *_HOST_AP))
