"""APQ: measuring an access point's queue from outside, seven devices, and how large one should be.

The devices themselves are not here. Each is an 802.11 cell of the engine whose access point has the
printed capacity: that the method finds it is by construction, delays and throughputs are not.
"""

from airqueue_papers.apq.devices import ITEMS as _DEVICES
from airqueue_papers.apq.discussion import ITEMS as _DISCUSSION
from airqueue_papers.apq.host_ap import ITEMS as _HOST_AP
from airqueue_papers.apq.validation import ITEMS as _VALIDATION
from airqueue_papers.item import Paper

PAPER = Paper("apq", (*_VALIDATION, *_DEVICES, *_DISCUSSION, *_HOST_AP))
