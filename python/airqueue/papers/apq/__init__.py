"""APQ: measuring an access point's queue from outside, seven devices, and how large one should be.

The devices themselves are not here. Each is an 802.11 cell of the engine whose access point has the
printed capacity: that the method finds it is by construction, delays and throughputs are not.
"""

from airqueue.papers.apq.devices import ITEMS as _DEVICES
from airqueue.papers.apq.discussion import ITEMS as _DISCUSSION
from airqueue.papers.apq.host_ap import ITEMS as _HOST_AP
from airqueue.papers.apq.validation import ITEMS as _VALIDATION
from airqueue.papers.item import Paper

PAPER = Paper("apq", (*_VALIDATION, *_DEVICES, *_DISCUSSION, *_HOST_AP))
