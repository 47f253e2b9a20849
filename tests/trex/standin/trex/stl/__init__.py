# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for TRex's Python client, as much of it as noref's profiles and search use."""
