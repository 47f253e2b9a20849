# SPDX-License-Identifier: BSD-3-Clause
"""The highest rate noref carries with a given loss, measured by TRex.

algorithm   the search itself: knows neither TRex nor noref
generator   TRex, through its Python client
router      noref, through noref-ctl
report      results on disk, and the kernel patch's table
cli         tools/trex/search
"""
