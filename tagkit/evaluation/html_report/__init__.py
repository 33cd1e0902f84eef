"""A report as one page of HTML: each section draws one kind of record, in a file of its own.

A new section is a function from its record to a fragment, and a row of `page.SECTIONS`.
"""
