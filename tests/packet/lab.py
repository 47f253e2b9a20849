# SPDX-License-Identifier: BSD-3-Clause
"""The router most tests use: one port to the SRv6 network, three to sites.

    port 0  core   VRF main   10.0.0.1/24  fc00:0:0:1::1/64
    port 1  site   VRF main   10.0.1.1/24  2001:db8:1::1/64
    port 2  site   VRF red    10.0.2.1/24  2001:db8:2::1/64
    port 3  site   VRF blue   10.0.3.1/24  2001:db8:3::1/64

Sources of test packets (11.0.0.0/8, fd00::/16 outside, fd01::/16 inside) have a route
back in every VRF, so that ICMP errors can be seen; destinations are
10.1.0.0/16 and 2001:db8:aa::/48 in each VRF (they overlap), and
fc00:0:2::/48 for further segments.
"""

PORT_MAC = [f"02:00:00:00:00:{port + 1:02x}" for port in range(16)]

# Neighbours: address -> (port, MAC)
NEIGHBOURS = {
    "10.0.0.2": (0, "02:00:00:00:09:02"),
    "fc00:0:0:1::2": (0, "02:00:00:00:09:99"),
    "10.0.1.2": (1, "02:00:00:00:01:02"),
    "10.0.1.3": (1, "02:00:00:00:01:03"),
    "2001:db8:1::2": (1, "02:00:00:00:06:12"),
    "2001:db8:1::3": (1, "02:00:00:00:06:13"),
    "10.0.2.2": (2, "02:00:00:00:02:02"),
    "2001:db8:2::2": (2, "02:00:00:00:06:22"),
    "10.0.3.2": (3, "02:00:00:00:03:02"),
    "2001:db8:3::2": (3, "02:00:00:00:06:32"),
}

OWN = {
    "main": {"10.0.0.1", "10.0.1.1", "fc00:0:0:1::1", "2001:db8:1::1"},
    "red": {"10.0.2.1", "2001:db8:2::1"},
    "blue": {"10.0.3.1", "2001:db8:3::1"},
}

ROUTER = "\n".join(
    ["ip link add red type vrf table 100", "ip link add blue type vrf table 200"]
    + [f"ip link set dev {port} address {PORT_MAC[port]}" for port in range(4)]
    + ["""\
ip link set dev 2 master red
ip link set dev 3 master blue
ip addr add 10.0.0.1/24 dev 0
ip addr add fc00:0:0:1::1/64 dev 0
ip addr add 10.0.1.1/24 dev 1
ip addr add 2001:db8:1::1/64 dev 1
ip addr add 10.0.2.1/24 dev 2
ip addr add 2001:db8:2::1/64 dev 2
ip addr add 10.0.3.1/24 dev 3
ip addr add 2001:db8:3::1/64 dev 3"""]
    + [f"ip neigh add {address} lladdr {mac} dev {port}"
       for address, (port, mac) in NEIGHBOURS.items()]
    + ["""\
ip route add 11.0.0.0/8 via 10.0.0.2
ip route add 11.0.0.0/8 via 10.0.2.2 vrf red
ip route add 11.0.0.0/8 via 10.0.3.2 vrf blue
ip -6 route add fd00::/16 via fc00:0:0:1::2
ip -6 route add fd01::/16 via fc00:0:0:1::2
ip -6 route add fd01::/16 via 2001:db8:2::2 vrf red
ip -6 route add fd01::/16 via 2001:db8:3::2 vrf blue
ip route add 10.1.0.0/16 via 10.0.1.2
ip route add 10.1.0.0/16 via 10.0.2.2 vrf red
ip route add 10.1.0.0/16 via 10.0.3.2 vrf blue
ip -6 route add 2001:db8:aa::/48 via 2001:db8:1::2
ip -6 route add 2001:db8:aa::/48 via 2001:db8:2::2 vrf red
ip -6 route add 2001:db8:aa::/48 via 2001:db8:3::2 vrf blue
ip -6 route add fc00:0:2::/48 via 2001:db8:1::2
ip -6 route add fc00:0:2::/48 via 2001:db8:2::2 vrf red
"""])

# SIDs of the decapsulating behaviours
DX4, DX6 = "fc00:0:1:d4::", "fc00:0:1:d6::"
DT4_RED, DT4_BLUE = "fc00:0:1:100::", "fc00:0:1:200::"
DT6_RED, DT6_BLUE = "fc00:0:1:106::", "fc00:0:1:206::"
DT46_RED = "fc00:0:1:46::"
END, END_PSP, END_X = "fc00:0:1:e0::", "fc00:0:1:e1::", "fc00:0:1:ea::"

SIDS = f"""\
ip -6 route add {DX4}/128 encap seg6local action End.DX4 nh4 10.0.1.2 dev 0
ip -6 route add {DX6}/128 encap seg6local action End.DX6 nh6 2001:db8:1::2 dev 0
ip -6 route add {DT4_RED}/64 encap seg6local action End.DT4 vrftable 100 dev 0
ip -6 route add {DT4_BLUE}/128 encap seg6local action End.DT4 vrftable 200 dev 0
ip -6 route add {DT6_RED}/128 encap seg6local action End.DT6 vrftable 100 dev 0
ip -6 route add {DT6_BLUE}/128 encap seg6local action End.DT6 vrftable 200 dev 0
ip -6 route add {DT46_RED}/128 encap seg6local action End.DT46 vrftable 100 dev 0
ip -6 route add {END}/128 encap seg6local action End dev 0
ip -6 route add {END_PSP}/128 encap seg6local action End flavors psp dev 0
ip -6 route add {END_X}/128 encap seg6local action End.X nh6 2001:db8:1::2 dev 0
"""
