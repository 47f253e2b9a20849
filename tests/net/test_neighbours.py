# SPDX-License-Identifier: BSD-3-Clause
"""ARP and neighbour discovery between noref and the kernel, in both roles."""

import re
import time

from harness import quick, wait_until

SCRIPT = """
    ip addr add 192.0.2.1/24 dev 0
    ip addr add fc00:0:0:1::1/64 dev 0
    ip addr add 10.0.2.1/24 dev 1
    ip addr add 2001:db8:2::1/64 dev 1
"""


def topology(lab, driver="net_af_packet"):
    """src ── 0 noref 1 ── dst, plain forwarding."""
    src, router, dst = lab.namespaces("src", "router", "dst")
    lab.port(router, "n0", src, "s0")
    lab.port(router, "n1", dst, "d0")
    src.ip("addr add 192.0.2.2/24 dev s0")
    src.ip("addr add fc00:0:0:1::2/64 dev s0")
    src.ip("route add default via 192.0.2.1")
    src.ip("route add default via fc00:0:0:1::1")
    dst.ip("addr add 10.0.2.2/24 dev d0")
    dst.ip("addr add 2001:db8:2::2/64 dev d0")
    dst.ip("route add default via 10.0.2.1")
    dst.ip("route add default via 2001:db8:2::1")
    noref = lab.noref(router, [f"{driver}0,iface=n0", f"{driver}1,iface=n1"], SCRIPT)
    return src, dst, noref


def kernel_entry(namespace, address):
    return next((entry for entry in namespace.ip_json("neigh show") if entry["dst"] == address), None)


def state(entry):
    """As a list of words, of the kernel's entry or of noref's."""
    words = entry.get("state", []) if entry else []
    return words if isinstance(words, list) else [words]


@quick
def both_resolve(lab):
    """Nothing is configured, a packet comes: both sides find each other's MAC, no packet is lost."""
    src, dst, noref = topology(lab)
    src.must_ping("10.0.2.2", 3)
    src.must_ping("2001:db8:2::2", 3)
    for address, namespace, device in (("192.0.2.2", src, "s0"), ("fc00:0:0:1::2", src, "s0"),
                                       ("10.0.2.2", dst, "d0"), ("2001:db8:2::2", dst, "d0")):
        entry = noref.neighbour(address)
        assert entry and entry["lladdr"] == namespace.mac(device), f"{address}: {entry}"
    router = lab.all_namespaces[1]
    for address, device in (("192.0.2.1", "n0"), ("fc00:0:0:1::1", "n0")):
        entry = kernel_entry(src, address)
        assert entry and entry["lladdr"] == router.mac(device), f"{address}: {entry}"
    assert not [reason for reason in noref.drops() if reason.startswith("neigh")], noref.drops()


def kernel_probes_its_stale_entry(lab):
    """A unicast ARP request, a unicast neighbour solicitation: answered, and the entry lives."""
    src, _, _ = topology(lab)
    for address in ("192.0.2.1", "fc00:0:0:1::1"):
        src.must_ping(address, 1)
        mac = kernel_entry(src, address)["lladdr"]
        src.ip(f"neigh change {address} lladdr {mac} dev s0 nud probe")
        wait_until(lambda: "REACHABLE" in state(kernel_entry(src, address)), 5,
                   f"{address} to be REACHABLE again, now {kernel_entry(src, address)}")


def kernel_finds_a_new_mac_of_ours(lab):
    """noref's MAC changes; the kernel has a stale entry with the old one, and gets over it."""
    src, _, noref = topology(lab)
    src.must_ping("192.0.2.1", 1)
    src.must_ping("fc00:0:0:1::1", 1)
    noref.ctl("ip link set dev 0 address 02:00:00:00:77:01")
    src.ip("neigh flush dev s0")
    src.must_ping("192.0.2.1", 2)
    src.must_ping("fc00:0:0:1::1", 2)
    assert kernel_entry(src, "192.0.2.1")["lladdr"] == "02:00:00:00:77:01"


def our_stale_entry_is_probed(lab):
    """An entry learnt from a request is STALE; using it leads to a unicast probe and REACHABLE."""
    src, dst, noref = topology(lab)
    # The kernel asks first, so noref learns without asking.
    for address, ours in (("10.0.2.2", "10.0.2.1"), ("2001:db8:2::2", "2001:db8:2::1")):
        dst.must_ping(ours, 1)
        assert noref.neighbour(address), f"{address} not learnt from its request"
    seen = {address: set() for address in ("10.0.2.2", "2001:db8:2::2")}

    def reachable():
        for address, states in seen.items():
            states.update(state(noref.neighbour(address)))
        src.ping("10.0.2.2", 1)
        src.ping("2001:db8:2::2", 1)
        return all("REACHABLE" in states for states in seen.values())
    wait_until(reachable, 20, f"both to be REACHABLE, seen: {seen}")


def neighbour_changes_its_mac(lab):
    """The host comes back with another MAC and asks for us: traffic to it follows."""
    src, dst, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    src.must_ping("2001:db8:2::2", 2)
    dst.ip("link set d0 down")
    dst.ip("link set d0 address 02:00:00:00:99:02")
    dst.ip("link set d0 up")
    dst.ip("addr replace 2001:db8:2::2/64 dev d0")
    dst.ip("route replace default via 10.0.2.1")
    dst.ip("route replace default via 2001:db8:2::1")
    dst.must_ping("10.0.2.1", 1)
    dst.must_ping("2001:db8:2::1", 1)
    src.must_ping("10.0.2.2", 2)
    src.must_ping("2001:db8:2::2", 2)
    for address in ("10.0.2.2", "2001:db8:2::2"):
        assert noref.neighbour(address)["lladdr"] == "02:00:00:00:99:02", noref.neighbour(address)


def carrier_loss_forgets_neighbours(lab):
    """Another host is plugged in at the same address and stays silent: no wait for a timer.
    Over net_tap, which tells of its carrier (net_af_packet and net_af_xdp do not)."""
    host, = lab.namespaces("host")
    noref = lab.noref(host, ["net_tap0,iface=tap0"], "ip addr add 192.0.2.1/24 dev 0")
    host.ip("link set tap0 up")
    host.ip("addr add 192.0.2.2/24 dev tap0")
    host.must_ping("192.0.2.1", 2)
    assert noref.neighbour("192.0.2.2")["lladdr"] == host.mac("tap0")
    host.ip("link set tap0 down")
    wait_until(lambda: "LOWER_UP" not in noref.ctl("ip link show dev 0"), 5, "the carrier to be gone")
    wait_until(lambda: "lladdr" not in (noref.neighbour("192.0.2.2") or {}), 5, "the neighbour to be forgotten")
    host.ip("link set tap0 address 02:00:00:00:99:04")
    host.ip("link set tap0 up")
    wait_until(lambda: "LOWER_UP" in noref.ctl("ip link show dev 0"), 5, "the carrier to be back")
    text = noref.ctl("ping 192.0.2.2 count 1")
    assert "02:00:00:00:99:04" == noref.neighbour("192.0.2.2")["lladdr"], text


def gratuitous_arp_updates_an_entry(lab):
    """The host announces its new MAC (arp_notify, ndisc_notify) and says nothing else."""
    src, dst, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    src.must_ping("2001:db8:2::2", 2)
    # The kernel holds an announcement back that follows the last change within a second.
    time.sleep(1.1)
    dst.sysctl("ipv4.conf.d0.arp_notify", 1)
    dst.sysctl("ipv6.conf.d0.ndisc_notify", 1)
    dst.ip("link set d0 address 02:00:00:00:99:03")
    for address in ("10.0.2.2", "2001:db8:2::2"):
        wait_until(lambda: noref.neighbour(address)["lladdr"] == "02:00:00:00:99:03", 3,
                   f"{address} to move, still {noref.neighbour(address)}")
    src.must_ping("10.0.2.2", 2)
    src.must_ping("2001:db8:2::2", 2)


def nobody_answers(lab):
    """A host that is not there: packets are counted, and their sender is told."""
    src, _, noref = topology(lab)
    for address in ("10.0.2.99", "2001:db8:2::99"):
        answers, text = src.ping(address, 2, timeout=6)
        assert answers == 0
        assert re.search(r"From (192\.0\.2\.1|fc00:0:0:1::1|10\.0\.2\.1|2001:db8:2::1) .*[Uu]nreachable", text), text
        entry = noref.neighbour(address)
        assert entry is None or "FAILED" in state(entry), entry
    assert noref.drops().get("neigh_unresolved", 0) >= 4, noref.drops()
    assert noref.balance()["held"] == 0, noref.balance()


def host_goes_away(lab):
    """A neighbour that answered before is found to be gone by the probes."""
    src, dst, noref = topology(lab)
    dst.must_ping("10.0.2.1", 1)
    dst.must_ping("2001:db8:2::1", 1)
    dst.ip("link set d0 arp off")
    dst.ip("addr flush dev d0")

    def noticed():
        text = src.ping("10.0.2.2", 1, timeout=1)[1] + src.ping("2001:db8:2::2", 1, timeout=1)[1]
        entries = [noref.neighbour(address) for address in ("10.0.2.2", "2001:db8:2::2")]
        return "nreachable" in text and all(entry is None or "FAILED" in state(entry) or "INCOMPLETE" in state(entry)
                                            for entry in entries)
    wait_until(noticed, 40, "the neighbour to be given up")
    assert noref.drops().get("neigh_unresolved", 0) >= 1, noref.drops()


def static_entry_stays(lab):
    """A permanent entry is used as it is and not overwritten by what the host says."""
    src, dst, noref = topology(lab)
    mac = dst.mac("d0")
    noref.ctl(f"ip neigh add 10.0.2.2 lladdr {mac} dev 1")
    src.must_ping("10.0.2.2", 2)
    noref.ctl("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:00:99 dev 1")
    dst.ping("10.0.2.1", 1, timeout=1)
    assert "PERMANENT" in state(noref.neighbour("10.0.2.2")), noref.neighbour("10.0.2.2")
    assert noref.neighbour("10.0.2.2")["lladdr"] == "02:00:00:00:00:99"
    answers, _ = src.ping("10.0.2.2", 1, timeout=1)
    assert answers == 0
    noref.ctl("ip neigh del 10.0.2.2 dev 1")
    src.must_ping("10.0.2.2", 2)


def flushed_entries_are_found_again(lab):
    src, _, noref = topology(lab)
    src.must_ping("10.0.2.2", 2)
    noref.ctl("ip neigh flush dev 1")
    src.must_ping("10.0.2.2", 2)


TESTS = [both_resolve, kernel_probes_its_stale_entry, kernel_finds_a_new_mac_of_ours, our_stale_entry_is_probed,
         neighbour_changes_its_mac, gratuitous_arp_updates_an_entry,
         carrier_loss_forgets_neighbours, nobody_answers, host_goes_away,
         static_entry_stays, flushed_entries_are_found_again]
