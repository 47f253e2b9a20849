/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FLOW_H
#define FRAME_FLOW_H

/**
 * @file
 * Which flow a frame belongs to, as a number: for spreading frames over workers.
 *
 * As RSS of a NIC, but of every header chain, and of what is inside tunnels. All
 * bits of the hash are good; the two directions of a flow differ. Any thread.
 *
 * Seen through: up to two VLAN tags (802.1Q, 802.1ad), IPv6 extension headers
 * (hop-by-hop, destination options, routing headers of any kind), at most 8 of them.
 * Hashed then: addresses, protocol, and
 *   - the ports of TCP, UDP and SCTP;
 *   - of a fragment, also the first, its identification instead: all fragments of a packet
 *     are of one flow;
 *   - of other protocols over IPv6 the flow label (RFC 6438), which tunnels carry the
 *     hash of their inner packet in. Where there are ports they tell the flow, whatever the label.
 * What is not IP, or too short to be, is hashed by MAC addresses and EtherType.
 *
 * `contiguous`: bytes that can be read at frame, which are hashed as if there were
 * no more; never reads beyond.
 */

#include <stdint.h>

/** By the outermost IP header. */
uint32_t frame_flow_outer(const uint8_t *frame, uint32_t contiguous);

/**
 * By the innermost one: IPv4 or IPv6 in IPv4 or IPv6 (protocols 4 and 41), with a segment
 * routing header or without, and Ethernet in those (143, RFC 8986), up to 4 deep. A frame without a
 * tunnel, and fragments of a tunnel's packets, by their outermost.
 */
uint32_t frame_flow_inner(const uint8_t *frame, uint32_t contiguous);

#endif
