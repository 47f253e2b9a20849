# SPDX-License-Identifier: BSD-3-Clause
"""SRv6 endpoint behaviours that do what they should (RFC 8986 4, RFC 8754 4.3)."""

import itertools

import packets as p
from cases import CaseTest
from lab import (DT4_BLUE, DT4_RED, DT46_RED, DT6_BLUE, DT6_RED, DX4, DX6, END, END_PSP, END_X,
                 ROUTER, SIDS)
from packets import routed

IN4 = "10.1.2.3"           # in the tables of main, red and blue
IN6 = "2001:db8:aa::9"
BEFORE = "fc00:0:5::1"     # a segment visited earlier
NEXT, LAST = "fc00:0:2::1", "fc00:0:2::2"

# Decapsulating SIDs: name -> (SID, what they accept, by which neighbours it leaves)
DECAPSULATING = {
    "dx4": (DX4, {4: "10.0.1.2"}),
    "dx6": (DX6, {6: "2001:db8:1::2"}),
    "dt4_red": (DT4_RED, {4: "10.0.2.2"}),
    "dt4_blue": (DT4_BLUE, {4: "10.0.3.2"}),
    "dt6_red": (DT6_RED, {6: "2001:db8:2::2"}),
    "dt6_blue": (DT6_BLUE, {6: "2001:db8:3::2"}),
    "dt46_red": (DT46_RED, {4: "10.0.2.2", 6: "2001:db8:2::2"}),
}
PROTO = {4: p.IPIP, 6: p.IPV6}


def inner(c, family, **fields):
    return c.ip4(IN4, **fields) if family == 4 else c.ip6(IN6, **fields)


def options(nh):
    """Destination or hop-by-hop options with nothing to do."""
    return p.options_header(nh, bytes([0x1E, 2, 0xAA, 0xBB]))  # RFC 4727: experiment, skip


class Decapsulate(CaseTest):
    """End.DX4, DX6, DT4, DT6, DT46: whatever stands before the inner packet is stripped."""

    router = ROUTER + SIDS

    # What stands between the outer header and the inner packet: name -> function
    # (SID, inner protocol) -> (first next header, bytes).
    SHAPES = {
        "reduced": lambda sid, nh: (nh, b""),
        "srh": lambda sid, nh: (p.ROUTING, p.path(nh, [BEFORE, sid], 0)),
        "srh_one_segment": lambda sid, nh: (p.ROUTING, p.path(nh, [sid], 0)),
        "srh_reduced_list": lambda sid, nh: (p.ROUTING, p.path(nh, [NEXT], 0)),
        "srh_padding_tlv": lambda sid, nh: (p.ROUTING, p.path(nh, [BEFORE, sid], 0,
                                                              tlvs=p.PAD_TLV)),
        "srh_unknown_tlvs": lambda sid, nh: (p.ROUTING, p.path(
            nh, [BEFORE, sid], 0, tlvs=p.UNKNOWN_TLV + p.PAD_TLV)),
        "srh_tag_and_flags": lambda sid, nh: (p.ROUTING, p.path(nh, [BEFORE, sid], 0, flags=0xFF,
                                                                tag=0x1234)),
        # RFC 8754 4.3.1.1: with segments left 0 the list is not looked at.
        "srh_last_entry_lies": lambda sid, nh: (p.ROUTING, p.path(nh, [BEFORE, sid], 0, last=7)),
        "srh_empty_list": lambda sid, nh: (p.ROUTING, p.srh(nh, [], 0, last=0)),
        "srh_sixteen_segments": lambda sid, nh: (p.ROUTING, p.path(nh, [BEFORE] * 15 + [sid], 0)),
        "hop_by_hop": lambda sid, nh: (p.HOPOPTS, options(nh)),
        "hop_by_hop_srh": lambda sid, nh: (p.HOPOPTS, options(p.ROUTING)
                                           + p.path(nh, [BEFORE, sid], 0)),
        "destination_options": lambda sid, nh: (p.DSTOPTS, options(nh)),
        "destination_options_srh": lambda sid, nh: (p.DSTOPTS, options(p.ROUTING)
                                                    + p.path(nh, [BEFORE, sid], 0)),
        "srh_destination_options": lambda sid, nh: (p.ROUTING, p.path(p.DSTOPTS, [BEFORE, sid], 0)
                                                    + options(nh)),
        "options_everywhere": lambda sid, nh: (
            p.HOPOPTS, options(p.DSTOPTS) + options(p.ROUTING)
            + p.path(p.DSTOPTS, [BEFORE, sid], 0, tlvs=p.PAD_TLV) + options(nh)),
        # RFC 8200 4.4: an unknown routing type with segments left 0 is ignored.
        "other_routing_type": lambda sid, nh: (p.ROUTING, p.srh(nh, [sid], 0, kind=253)),
        "routing_type_0": lambda sid, nh: (p.ROUTING, p.srh(nh, [sid], 0, kind=0)),
    }

    @classmethod
    def build(cls, case):
        for (name, (sid, families)), (shape, make) in itertools.product(
                DECAPSULATING.items(), cls.SHAPES.items()):
            for family, via in families.items():
                if name in ("dt4_blue", "dt6_blue") and shape not in ("reduced", "srh"):
                    continue
                suffix = f"_ipv{family}" if len(families) > 1 else ""
                c = case(f"{name}{suffix}_{shape}")
                nh, between = make(sid, PROTO[family])
                packet = inner(c, family)
                c.send(c.outer(sid, nh, between + packet))
                c.out(via, routed(packet))


class DecapsulateMore(CaseTest):
    """What the inner packet may be, and how the outer header matters not."""

    router = ROUTER + SIDS + """\
ip -6 route add fc00:0:1:100:1::/80 via fc00:0:0:1::2
ip -6 route add fc00:0:1:100:2::/80 encap seg6local action End.DX4 nh4 10.0.1.3 dev 0
ip -6 route add fc00:0:0:1::1/128 encap seg6local action End.DT4 vrftable 100 dev 0
ip -6 route add fc00:0:1:54::/128 encap seg6local action End.DT4 vrftable 254 dev 0
ip -6 route add fc00:0:1:56::/128 encap seg6local action End.DT6 table 254 dev 0
ip -6 route add fc00:0:1:d7::/128 encap seg6local action End.DX6 nh6 fe80::77 dev 1
ip neigh add fe80::77 lladdr 02:00:00:00:77:77 dev 1
"""

    @classmethod
    def build(cls, case):
        def decapsulated(c, sid, packet, via, **outer):
            c.send(c.outer(sid, PROTO[packet[0] >> 4], packet, **outer))
            c.out(via, routed(packet))

        for hop_limit in (0, 1, 255):
            # The packet has arrived: its hop limit is spent but asks for nothing more.
            c = case(f"outer_hop_limit_{hop_limit}")
            decapsulated(c, DT4_RED, c.ip4(IN4), "10.0.2.2", hlim=hop_limit)
            c = case(f"outer_hop_limit_{hop_limit}_srh")
            packet = c.ip6(IN6)
            c.send(c.outer(DT6_RED, p.ROUTING, p.path(p.IPV6, [BEFORE, DT6_RED], 0) + packet,
                           hlim=hop_limit))
            c.out("2001:db8:2::2", routed(packet))

        c = case("inner_ttl_2")
        decapsulated(c, DT4_RED, c.ip4(IN4, ttl=2), "10.0.2.2")
        c = case("inner_hop_limit_2")
        decapsulated(c, DT6_RED, c.ip6(IN6, hlim=2), "2001:db8:2::2")
        c = case("inner_ttl_255")
        decapsulated(c, DX4, c.ip4(IN4, ttl=255), "10.0.1.2")
        c = case("inner_options")
        decapsulated(c, DT4_RED, c.ip4(IN4, options=b"\x82\x0b" + bytes(9) + b"\0"), "10.0.2.2")
        c = case("inner_40_bytes_of_options")
        decapsulated(c, DX4, c.ip4(IN4, options=b"\x01" * 40), "10.0.1.2")
        c = case("inner_first_fragment")
        decapsulated(c, DT4_RED, c.ip4(IN4, mf=True), "10.0.2.2")
        c = case("inner_later_fragment")
        decapsulated(c, DT4_RED, c.ip4(IN4, offset=100), "10.0.2.2")
        c = case("inner_dscp_kept_outer_dscp_ignored")
        decapsulated(c, DT4_RED, c.ip4(IN4, tos=0x28), "10.0.2.2", tc=0xB8)
        c = case("inner_traffic_class_and_flow_label_kept")
        decapsulated(c, DT6_RED, c.ip6(IN6, tc=0x28, flow=0xABCDE), "2001:db8:2::2", tc=0xB8,
                     flow=0x12345)
        c = case("inner_without_payload")
        decapsulated(c, DT4_RED, p.ip4(c.src4, IN4, 253), "10.0.2.2")
        c = case("inner_ipv6_no_next_header")
        decapsulated(c, DT6_RED, p.ip6(c.in6, IN6, p.NONE), "2001:db8:2::2")
        c = case("inner_ipv6_with_hop_by_hop")
        decapsulated(c, DT6_RED, p.ip6(c.in6, IN6, p.HOPOPTS, options(p.UDP) + c.udp()),
                     "2001:db8:2::2")
        c = case("inner_ipv6_with_its_own_srh")
        decapsulated(c, DT6_RED, p.ip6(c.in6, IN6, p.ROUTING, p.path(p.UDP, [IN6, LAST], 1)
                                       + c.udp()), "2001:db8:2::2")
        c = case("inner_1400_bytes")
        decapsulated(c, DT4_RED, c.ip4(IN4, size=1372), "10.0.2.2")
        c = case("inner_1500_bytes_df")
        decapsulated(c, DT4_RED, c.ip4(IN4, size=1472, df=True), "10.0.2.2")

        c = case("dx4_does_not_ask_the_table")
        decapsulated(c, DX4, c.ip4("192.0.2.77"), "10.0.1.2")
        c = case("dx6_does_not_ask_the_table")
        decapsulated(c, DX6, c.ip6("2001:db8:dead::1"), "2001:db8:1::2")
        c = case("dx6_link_local_next_hop")
        decapsulated(c, "fc00:0:1:d7::", c.ip6(IN6), (1, "02:00:00:00:77:77"))
        c = case("dt4_main_table")
        decapsulated(c, "fc00:0:1:54::", c.ip4(IN4), "10.0.1.2")
        c = case("dt6_main_table")
        decapsulated(c, "fc00:0:1:56::", c.ip6(IN6), "2001:db8:1::2")
        c = case("dt4_to_a_host_on_the_connected_network")
        decapsulated(c, DT4_RED, c.ip4("10.0.2.2"), "10.0.2.2")

        c = case("same_destination_red")
        decapsulated(c, DT4_RED, c.ip4("10.1.9.9"), "10.0.2.2")
        c = case("same_destination_blue")
        decapsulated(c, DT4_BLUE, c.ip4("10.1.9.9"), "10.0.3.2")

        c = case("sid_prefix_any_address_in_it")
        decapsulated(c, "fc00:0:1:100:ffff:ffff:ffff:ffff", c.ip4(IN4), "10.0.2.2")
        c = case("longer_sid_wins_over_shorter_sid")
        decapsulated(c, "fc00:0:1:100:2::5", c.ip4(IN4), "10.0.1.3")
        c = case("longer_plain_route_wins_over_sid")
        packet = c.outer("fc00:0:1:100:1::5", p.IPIP, c.ip4(IN4))
        c.send(packet)
        c.out("fc00:0:0:1::2", routed(packet))

        c = case("sid_that_is_an_own_address")
        decapsulated(c, "fc00:0:0:1::1", c.ip4(IN4), "10.0.2.2")
        c = case("sid_that_is_an_own_address_srh")
        packet = c.ip4(IN4)
        c.send(c.outer("fc00:0:0:1::1", p.ROUTING,
                       p.path(p.IPIP, [BEFORE, "fc00:0:0:1::1"], 0) + packet))
        c.out("10.0.2.2", routed(packet))
        c = case("own_address_that_is_a_sid_answers_echo")
        c.send(p.echo6(c.src6, "fc00:0:0:1::1", c.payload))
        c.echo_reply()

        # RFC 1624: an update by addition must not leave 0xffff where 0 is right.
        c = case("checksum_update_meets_minus_zero")
        packet = next(q for q in (c.ip4(IN4, ident=n) for n in range(65536))
                      if q[10:12] == b"\xfe\xff")
        decapsulated(c, DT4_RED, packet, "10.0.2.2")
        c = case("checksum_update_carries")
        packet = next(q for q in (c.ip4(IN4, ident=n) for n in range(65536)) if q[10] == 0xFF)
        decapsulated(c, DT4_RED, packet, "10.0.2.2")


class Ecn(CaseTest):
    """RFC 6040 4.2, figure 4: what the outer congestion mark does to the inner one."""

    router = ROUTER + SIDS + "ip sr ecn set rfc6040\n"

    NOT, ECT1, ECT0, CE = 0, 1, 2, 3
    WORDS = {NOT: "not_ect", ECT1: "ect1", ECT0: "ect0", CE: "ce"}
    RESULT = {  # inner -> outer -> forwarded
        NOT: {NOT: NOT, ECT0: NOT, ECT1: NOT, CE: None},
        ECT0: {NOT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
        ECT1: {NOT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
        CE: {NOT: CE, ECT0: CE, ECT1: CE, CE: CE},
    }

    @classmethod
    def build(cls, case):
        for inside, row in cls.RESULT.items():
            for outside, result in row.items():
                for family, sid, via in ((4, DT4_RED, "10.0.2.2"), (6, DT6_RED, "2001:db8:2::2"),
                                         (4, DX4, "10.0.1.2")):
                    where = "dx4" if sid == DX4 else f"ipv{family}"
                    c = case(f"{where}_inner_{cls.WORDS[inside]}_outer_{cls.WORDS[outside]}")
                    field = "tos" if family == 4 else "tc"
                    packet = inner(c, family, **{field: 0x48 | inside})
                    c.send(c.outer(sid, PROTO[family], packet, tc=0xB8 | outside))
                    if result is None:
                        c.drop("tunnel_ecn")
                        continue
                    edit = p.ip4_edit if family == 4 else p.ip6_edit
                    c.out(via, edit(routed(packet), **{field: 0x48 | result}))


class EcnLeftAlone(CaseTest):
    """Without `ip sr ecn set rfc6040` the inner mark is kept, as the kernel's End.D* do."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        for inside, outside in itertools.product(range(4), repeat=2):
            for family, sid, via in ((4, DT4_RED, "10.0.2.2"), (6, DT6_RED, "2001:db8:2::2")):
                c = case(f"ipv{family}_inner_{Ecn.WORDS[inside]}_outer_{Ecn.WORDS[outside]}")
                packet = inner(c, family, **{"tos" if family == 4 else "tc": 0x48 | inside})
                c.send(c.outer(sid, PROTO[family], packet, tc=0xB8 | outside))
                c.out(via, routed(packet))


FLAVOURS = [combo for size in range(4) for combo in itertools.combinations(
    ("psp", "usp", "usd"), size)]


def flavoured_sids(digit, action):
    """One SID for each combination of flavours: (flavours, SID) and the script."""
    table = [(combo, f"fc00:0:1:{digit}{number}::") for number, combo in enumerate(FLAVOURS)]
    script = "".join(
        f"ip -6 route add {sid}/128 encap seg6local action {action}"
        f"{' flavors ' + ','.join(combo) if combo else ''} dev 0\n" for combo, sid in table)
    return table, script


def flavour_cases(case, table, to_next, to_usd4, to_usd6):
    """End, End.X or End.T with every combination of flavours.

    to_next: the neighbour that gets the packet on its way to the next segment;
    to_usd4, to_usd6: those that get a packet decapsulated by USD.
    """
    for flavours, sid in table:
        name = "_".join(flavours) or "plain"

        c = case(f"{name}_segments_left_2")
        rest = c.udp()
        c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [sid, NEXT, LAST], 2, tlvs=p.PAD_TLV) + rest))
        c.out(to_next, c.outer(NEXT, p.ROUTING, p.path(p.UDP, [sid, NEXT, LAST], 1,
                                                       tlvs=p.PAD_TLV) + rest, hlim=63))

        c = case(f"{name}_segments_left_1")
        rest = c.udp()
        c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [sid, NEXT], 1) + rest))
        if "psp" in flavours:
            c.out(to_next, c.outer(NEXT, p.UDP, rest, hlim=63))
        else:
            c.out(to_next, c.outer(NEXT, p.ROUTING, p.path(p.UDP, [sid, NEXT], 0) + rest, hlim=63))

        c = case(f"{name}_segments_left_1_reduced_list")
        rest = c.udp()
        c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [NEXT], 1) + rest))
        if "psp" in flavours:
            c.out(to_next, c.outer(NEXT, p.UDP, rest, hlim=63))
        else:
            c.out(to_next, c.outer(NEXT, p.ROUTING, p.path(p.UDP, [NEXT], 0) + rest, hlim=63))

        for shape in ("srh", "reduced"):
            for family, via in ((4, to_usd4), (6, to_usd6)):
                c = case(f"{name}_ipv{family}_inside_{shape}")
                packet = inner(c, family)
                if shape == "srh":
                    c.send(c.outer(sid, p.ROUTING, p.path(PROTO[family], [BEFORE, sid], 0)
                                   + packet))
                else:
                    c.send(c.outer(sid, PROTO[family], packet))
                if "usd" in flavours:
                    c.out(via, routed(packet))
                    continue
                c.drop("sid_upper_layer")
                if shape == "reduced":
                    c.error(4, 4, 40)
                elif "usp" not in flavours:
                    c.error(4, 4, 40 + 8 + 32)
                else:  # whether the SRH is quoted that USP has removed is left open
                    c.error_allowed()

        c = case(f"{name}_echo")
        c.send(p.echo6(c.src6, sid, c.payload))
        c.echo_reply()
        c = case(f"{name}_echo_srh")
        body = p.echo6_body(c.src6, sid, c.payload)
        c.send(c.outer(sid, p.ROUTING, p.path(p.ICMP6, [BEFORE, sid], 0) + body))
        c.echo_reply(request=c.outer(sid, p.ICMP6, body))


class EndFlavours(CaseTest):
    """RFC 8986 4.1 and 4.16: End."""

    SIDS, script = flavoured_sids("e", "End")
    router = ROUTER + script

    @classmethod
    def build(cls, case):
        flavour_cases(case, cls.SIDS, "2001:db8:1::2", "10.0.1.2", "2001:db8:1::2")


class EndXFlavours(CaseTest):
    """RFC 8986 4.2 and 4.16: End.X sends to its neighbour, whatever the tables say."""

    SIDS, script = flavoured_sids("a", "End.X nh6 2001:db8:1::3")
    router = ROUTER + script

    @classmethod
    def build(cls, case):
        flavour_cases(case, cls.SIDS, "2001:db8:1::3", "2001:db8:1::3", "2001:db8:1::3")


class EndTFlavours(CaseTest):
    """RFC 8986 4.3 and 4.16: End.T looks up in the table of VRF red."""

    SIDS, script = flavoured_sids("b", "End.T table 100")
    router = ROUTER + script

    @classmethod
    def build(cls, case):
        flavour_cases(case, cls.SIDS, "2001:db8:2::2", "10.0.2.2", "2001:db8:2::2")


class Psp(CaseTest):
    """RFC 8986 4.16.1: the header that really precedes the SRH is patched."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def popped(name, before, after, tlvs=b"", rest_of=lambda c: c.udp()):
            c = case(name)
            rest, last = rest_of(c), after or p.UDP
            head, chain = (before[0], before[1](p.ROUTING)) if before else (p.ROUTING, b"")
            tail = (options(p.UDP) if after else b"") + rest
            c.send(c.outer(END_PSP, head, chain + p.path(last, [END_PSP, NEXT], 1, tlvs=tlvs)
                           + tail))
            head, chain = (before[0], before[1](last)) if before else (last, b"")
            c.out("2001:db8:1::2", c.outer(NEXT, head, chain + tail, hlim=63))

        popped("nothing_before", None, None)
        popped("tlvs_go_with_it", None, None, tlvs=p.UNKNOWN_TLV + p.PAD_TLV)
        popped("after_destination_options", (p.DSTOPTS, options), None)
        popped("after_hop_by_hop", (p.HOPOPTS, options), None)
        popped("after_both", (p.HOPOPTS, lambda nh: options(p.DSTOPTS) + options(nh)), None)
        popped("before_destination_options", None, p.DSTOPTS)
        popped("between_options", (p.DSTOPTS, options), p.DSTOPTS)
        popped("long_payload", None, None, rest_of=lambda c: c.udp(1300))

        c = case("long_list")
        hops = [BEFORE] * 14 + [END_PSP, NEXT]
        rest = c.udp()
        c.send(c.outer(END_PSP, p.ROUTING, p.path(p.UDP, hops, 1) + rest))
        c.out("2001:db8:1::2", c.outer(NEXT, p.UDP, rest, hlim=63))

        c = case("ethernet_padding_is_cut_first")
        c.send(c.outer(END_PSP, p.ROUTING, p.path(p.UDP, [END_PSP, NEXT], 1) + c.udp()),
               trailer=b"\xee" * 11)
        c.out("2001:db8:1::2", c.outer(NEXT, p.UDP, c.udp(), hlim=63))


class End(CaseTest):
    """End and End.X: hop limits, options, and segments that are SIDs of this router, too."""

    router = ROUTER + SIDS + """\
ip -6 route add fc00:0:1:e9::/128 encap seg6local action End dev 0
ip -6 route add fc00:0:1:eb::/128 encap seg6local action End.X nh6 fe80::77 dev 1
ip -6 route add fc00:0:1:ec::/128 encap seg6local action End.T table 200 dev 0
ip neigh add fe80::77 lladdr 02:00:00:00:77:77 dev 1
ip -6 route add blackhole fc00:0:2:b::/64
"""

    @classmethod
    def build(cls, case):
        def step(c, sid, hops, left, **fields):
            """The packet at the hop before which `left` segments remain."""
            fields.setdefault("nh", p.UDP)
            nh = fields.pop("nh")
            rest = fields.pop("rest", None) or c.udp()
            return c.outer(sid, p.ROUTING, p.path(nh, hops, left) + rest, **fields)

        for name, sid, via in (("end", END, "2001:db8:1::2"),
                               ("end_x", END_X, "2001:db8:1::2"),
                               ("end_x_link_local", "fc00:0:1:eb::", (1, "02:00:00:00:77:77"))):
            c = case(f"{name}_hop_limit_2")
            c.send(step(c, sid, [sid, NEXT], 1, hlim=2))
            c.out(via, step(c, NEXT, [sid, NEXT], 0, hlim=1))
            c = case(f"{name}_after_options")
            chain = options(p.DSTOPTS) + options(p.ROUTING)
            c.send(c.outer(sid, p.HOPOPTS, chain + p.path(p.UDP, [sid, NEXT], 1) + c.udp()))
            c.out(via, c.outer(NEXT, p.HOPOPTS, chain + p.path(p.UDP, [sid, NEXT], 0) + c.udp(),
                               hlim=63))
            c = case(f"{name}_keeps_class_flow_flags_and_tag")
            marks = {"tc": 0xB9, "flow": 0x54321}
            c.send(c.outer(sid, p.ROUTING, p.path(p.UDP, [sid, NEXT], 1, flags=0x81, tag=77)
                           + c.udp(), **marks))
            c.out(via, c.outer(NEXT, p.ROUTING, p.path(p.UDP, [sid, NEXT], 0, flags=0x81, tag=77)
                               + c.udp(), hlim=63, **marks))

        c = case("segments_left_is_last_entry_plus_one")
        c.send(step(c, END, [NEXT, LAST], 2))
        c.out("2001:db8:1::2", step(c, NEXT, [NEXT, LAST], 1, hlim=63))

        for hop_limit in (0, 1):
            c = case(f"end_hop_limit_{hop_limit}")
            c.send(step(c, END, [END, NEXT], 1, hlim=hop_limit))
            c.drop("ip6_hop_limit")
            c.error(3, 0)
            c = case(f"end_x_hop_limit_{hop_limit}")
            c.send(step(c, END_X, [END_X, NEXT], 1, hlim=hop_limit))
            c.drop("ip6_hop_limit")
            c.error(3, 0)

        c = case("end_x_next_segment_without_route")
        c.send(step(c, END_X, [END_X, "fc00:0:77::1"], 1))
        c.out("2001:db8:1::2", step(c, "fc00:0:77::1", [END_X, "fc00:0:77::1"], 0, hlim=63))
        c = case("end_next_segment_without_route")
        c.send(step(c, END, [END, "fc00:0:77::1"], 1))
        c.drop("ip6_no_route")
        c.error(1, 0, quote=step(c, "fc00:0:77::1", [END, "fc00:0:77::1"], 0, hlim=63))
        c = case("end_next_segment_blackhole")
        c.send(step(c, END, [END, "fc00:0:2:b::1"], 1))
        c.drop("blackhole")
        c = case("end_t_without_route_does_not_fall_into_main")
        c.send(step(c, "fc00:0:1:ec::", ["fc00:0:1:ec::", NEXT], 1))
        c.drop("ip6_no_route")
        c.error_allowed()
        for name, segment in (("multicast", "ff0e::1"), ("loopback", "::1"), ("unspecified", "::"),
                              ("link_local", "fe80::1234")):
            c = case(f"end_next_segment_{name}")
            c.send(step(c, END, [END, segment], 1))
            c.drop("martian", "ip6_no_route")
            c.error_allowed()

        c = case("chain_end_then_decapsulation")
        packet = c.ip4(IN4)
        c.send(step(c, END, [END, DT4_RED], 1, nh=p.IPIP, rest=packet))
        c.out("10.0.2.2", routed(packet))
        c = case("chain_psp_then_decapsulation")
        packet = c.ip4(IN4)
        c.send(step(c, END_PSP, [END_PSP, DT4_BLUE], 1, nh=p.IPIP, rest=packet))
        c.out("10.0.3.2", routed(packet))
        c = case("chain_end_end_out")
        hops = [END, "fc00:0:1:e9::", NEXT]
        c.send(step(c, END, hops, 2))
        c.out("2001:db8:1::2", step(c, NEXT, hops, 0, hlim=62))
        c = case("chain_end_then_end_x")
        hops = [END, "fc00:0:1:eb::", NEXT]
        c.send(step(c, END, hops, 2, hlim=3))
        c.out((1, "02:00:00:00:77:77"), step(c, NEXT, hops, 0, hlim=1))
        c = case("chain_end_then_echo")
        body = p.echo6_body(c.src6, "fc00:0:1:e9::", c.payload)
        c.send(step(c, END, [END, "fc00:0:1:e9::"], 1, nh=p.ICMP6, rest=body))
        c.echo_reply(request=c.outer("fc00:0:1:e9::", p.ICMP6, body))
        c = case("chain_end_then_own_address_echo")
        body = p.echo6_body(c.src6, "fc00:0:0:1::1", c.payload)
        c.send(step(c, END, [END, "fc00:0:0:1::1"], 1, nh=p.ICMP6, rest=body))
        c.echo_reply(request=c.outer("fc00:0:0:1::1", p.ICMP6, body))
        c = case("chain_hop_limit_is_checked_for_each")
        hops = [END, "fc00:0:1:e9::", NEXT]
        c.send(step(c, END, hops, 2, hlim=2))
        c.drop("ip6_hop_limit")
        c.error(3, 0, quote=step(c, "fc00:0:1:e9::", hops, 1, hlim=1))
        c = case("chain_last_hop_limit_does_for_decapsulation")
        packet = c.ip4(IN4)
        c.send(step(c, END, [END, DX4], 1, nh=p.IPIP, rest=packet, hlim=2))
        c.out("10.0.1.2", routed(packet))
        c = case("chain_to_itself_is_bounded")
        c.send(step(c, END, [END] * 80 + [NEXT], 80, hlim=255))
        c.drop("sid_loop")
        c.error_allowed()
        c = case("chain_of_all_segments_the_same_ends_at_the_hop_limit")
        c.send(step(c, END, [END] * 6 + [NEXT], 6, hlim=3))
        c.drop("ip6_hop_limit", "sid_loop")
        c.error_allowed()


class Bursts(CaseTest):
    """A burst of packets to different SIDs: each by its own, with counters of its own."""

    router = ROUTER + SIDS

    @classmethod
    def build(cls, case):
        def counted(c, sid, shown=None, **kinds):
            c.counts(shown or f"{sid}/128", **kinds)

        for turn in range(12):
            c = case(f"dx4_{turn}")
            packet = c.ip4(IN4)
            c.send(c.outer(DX4, p.IPIP, packet))
            c.out("10.0.1.2", routed(packet))
            counted(c, DX4, packets=1)
            c = case(f"dt4_red_{turn}")
            packet = c.ip4(IN4, size=turn * 40)
            c.send(c.outer(f"{DT4_RED}{turn + 1:x}", p.ROUTING,
                           p.path(p.IPIP, [BEFORE, DT4_RED], 0) + packet))
            c.out("10.0.2.2", routed(packet))
            counted(c, DT4_RED, f"{DT4_RED}/64", packets=1)
            c = case(f"dt6_red_{turn}")
            packet = c.ip6(IN6)
            c.send(c.outer(DT6_RED, p.IPV6, packet), trailer=b"\xee" * turn)
            c.out("2001:db8:2::2", routed(packet))
            counted(c, DT6_RED, packets=1)
            c = case(f"dt4_blue_segments_left_{turn}")
            c.send(c.outer(DT4_BLUE, p.ROUTING, p.path(p.IPIP, [DT4_BLUE, NEXT], 1)
                           + c.ip4(IN4)))
            c.drop("srh_segments_left")
            c.error(4, 0, 43)
            counted(c, DT4_BLUE, errors=1)
            c = case(f"end_{turn}")
            c.send(c.outer(END, p.ROUTING, p.path(p.UDP, [END, NEXT], 1) + c.udp()))
            c.out("2001:db8:1::2", c.outer(NEXT, p.ROUTING, p.path(p.UDP, [END, NEXT], 0)
                                           + c.udp(), hlim=63))
            counted(c, END, packets=1)
            c = case(f"end_psp_without_srh_{turn}")
            c.send(c.outer(END_PSP, p.UDP, c.udp()))
            c.drop("sid_upper_layer")
            c.error(4, 4, 40)
            counted(c, END_PSP, errors=1)
            c = case(f"dt46_truncated_srh_{turn}")
            c.send(c.outer(DT46_RED, p.ROUTING, p.path(p.IPIP, [BEFORE, DT46_RED], 0, length=200)
                           + c.ip4(IN4)))
            c.drop("srh_malformed")
            c.error_allowed()
            counted(c, DT46_RED, errors=1)
