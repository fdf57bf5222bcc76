"""The kernel's Minstrel-HT, compiled into a program, on links of which ours is tried, too."""
