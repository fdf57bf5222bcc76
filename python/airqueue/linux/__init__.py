"""The Linux test bed: a Host AP made of kernel queues in network namespaces."""
