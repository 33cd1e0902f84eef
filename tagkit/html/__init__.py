"""HTML: text escaped by default, one page without a script, texts with their labels, charts.

What is drawn comes from corpora, which anybody may have written: every text goes through
`elements.escaped`, and a page refuses to load or run anything (`page.POLICY`).

    elements    an element with its attributes and children, tables
    drawing     a text with its spans, or tokens with their tags
    colours     of labels and of the page, in light and in dark
    chart       axes, bars and curves in SVG
    page        what begins and ends a file
"""
