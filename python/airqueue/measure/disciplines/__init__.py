"""Which queue discipline a device has, from packet records alone.

`steps` lays out the runs, `observed` reads them, and each discipline has a file with its test;
`management`, `sharing` and `verdict` put them together. A new discipline is a file with a test and a
line in `management`.
"""
