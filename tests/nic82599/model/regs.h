/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REGS_H
#define REGS_H

/**
 * @file
 * Registers of the 82599 that the model gives a meaning to, by the names of the
 * datasheet (Intel 331520, chapter 8.2.3), and the bits it looks at. Everything
 * else in the 128 KiB of BAR 0 is plain storage.
 */

#define BAR_SIZE   0x20000u
#define RX_QUEUES  128u
#define TX_QUEUES  128u
#define STAT_SLOTS 16u /**< queue counters; RQSMR and TQSM say which queue counts where */

/* General control, 8.2.3.1 */
#define R_CTRL	     0x00000u
#define CTRL_LRST    (1u << 3)
#define CTRL_RST     (1u << 26)
#define R_STATUS     0x00008u
#define R_ESDP	     0x00020u
#define ESDP_SDP2    (1u << 2) /**< a module is in the cage */
#define R_I2CCTL     0x00028u
#define I2C_CLK_IN   (1u << 0)
#define I2C_CLK_OUT  (1u << 1)
#define I2C_DATA_IN  (1u << 2)
#define I2C_DATA_OUT (1u << 3)

/* EEPROM and semaphores, 8.2.3.2 and 8.2.3.4 */
#define R_EEC		  0x10010u
#define EEC_REQ		  (1u << 6)
#define EEC_GNT		  (1u << 7)
#define EEC_PRES	  (1u << 8)
#define EEC_ARD		  (1u << 9)
#define EEC_ADDR	  (1u << 10)
#define EEC_SIZE_4K	  (4u << 11)
#define R_EERD		  0x10014u
#define EERD_DONE	  (1u << 1)
#define R_EEMNGCTL	  0x10110u
#define EEMNGCTL_CFG_DONE (3u << 18) /**< of both ports */
#define R_SWSM		  0x10140u
#define SWSM_SMBI	  (1u << 0)
#define R_FWSM		  0x10148u
#define R_SW_FW_SYNC	  0x10160u

/* Interrupts, 8.2.3.5 */
#define R_EICR	 0x00800u
#define R_EICS	 0x00808u
#define R_EIMS	 0x00880u
#define R_EIMC	 0x00888u
#define EICR_LSC (1u << 20) /**< link status change */

/* Receive filters, 8.2.3.7 */
#define R_RXCSUM      0x05000u
#define R_FCTRL	      0x05080u
#define FCTRL_MPE     (1u << 8)
#define FCTRL_UPE     (1u << 9)
#define FCTRL_BAM     (1u << 10)
#define R_VLNCTRL     0x05088u
#define VLNCTRL_VFE   (1u << 30)
#define R_MCSTCTRL    0x05090u
#define MCSTCTRL_MFE  (1u << 2)
#define R_ETQF(i)     (0x05128u + (i)*4u)
#define ETQF_COUNT    8u
#define R_MTA(i)      (0x05200u + (i)*4u)
#define R_MRQC	      0x05818u
#define MRQC_MODE     0xfu
#define MRQC_RSS      1u
#define MRQC_TCP4     (1u << 16)
#define MRQC_IPV4     (1u << 17)
#define MRQC_IPV6     (1u << 20)
#define MRQC_TCP6     (1u << 21)
#define MRQC_UDP4     (1u << 22)
#define MRQC_UDP6     (1u << 23)
#define R_RETA(i)     (0x05c00u + (i)*4u)
#define R_RSSRK(i)    (0x05c80u + (i)*4u)
#define R_VFTA(i)     (0x0a000u + (i)*4u)
#define R_RAL(i)      (0x0a200u + (i)*8u)
#define R_RAH(i)      (0x0a204u + (i)*8u)
#define RAH_AV	      (1u << 31)
#define RAH_COUNT     128u
#define R_SAQF(i)     (0x0e000u + (i)*4u)
#define R_DAQF(i)     (0x0e200u + (i)*4u)
#define R_SDPQF(i)    (0x0e400u + (i)*4u)
#define R_FTQF(i)     (0x0e600u + (i)*4u)
#define R_L34TIMIR(i) (0x0e800u + (i)*4u)
#define FTQF_COUNT    128u
#define FTQF_ENABLE   (1u << 31)
#define R_ETQS(i)     (0x0ec00u + (i)*4u)
#define ETQ_ENABLE    (1u << 31)
#define R_SYNQF	      0x0ec30u
#define SYNQF_ENABLE  (1u << 0)
#define SYNQF_HIGH    (1u << 31)

/* Receive queues and DMA, 8.2.3.8 */
#define R_RX_QUEUE(q)	 ((q) < 64u ? 0x01000u + (q)*0x40u : 0x0d000u + ((q)-64u) * 0x40u)
#define R_RX_DCA(q)	 (R_RX_QUEUE(q) + 0x0cu)
#define R_RDRXCTL	 0x02f00u
#define RDRXCTL_DMAIDONE (1u << 3)
#define R_RXCTRL	 0x03000u
#define RXCTRL_RXEN	 (1u << 0)
#define R_RXPBSIZE(i)	 (0x03c00u + (i)*4u)
#define SRRCTL_BSIZE	 0x1fu /**< in KiB */
#define SRRCTL_DROP_EN	 (1u << 28)

/* Words of a receive or transmit queue, from its base. */
#define Q_BASE_LOW  0x00u
#define Q_BASE_HIGH 0x04u
#define Q_LENGTH    0x08u /**< bytes, 16 a descriptor */
#define Q_HEAD	    0x10u
#define Q_SRRCTL    0x14u /**< receive only */
#define Q_TAIL	    0x18u
#define Q_CONTROL   0x28u /**< RXDCTL, TXDCTL */
#define DCTL_ENABLE (1u << 25)
#define DCTL_SWFLSH (1u << 26)
#define RXDCTL_VME  (1u << 30) /**< strip the VLAN tag */

/* Transmit, 8.2.3.9 */
#define R_TX_QUEUE(q) (0x06000u + (q)*0x40u)
#define R_DMATXCTL    0x04a80u
#define DMATXCTL_TE   (1u << 0)

/* MAC and link, 8.2.3.22 */
#define R_HLREG0	 0x04240u
#define HLREG0_TXCRCEN	 (1u << 0)
#define HLREG0_RXCRCSTRP (1u << 1)
#define HLREG0_JUMBOEN	 (1u << 2)
#define HLREG0_TXPADEN	 (1u << 10)
#define HLREG0_LPBK	 (1u << 15)
#define R_MSCA		 0x0425cu
#define MSCA_COMMAND	 (1u << 30)
#define R_MSRWD		 0x04260u
#define R_MAXFRS	 0x04268u
#define R_AUTOC		 0x042a0u
#define AUTOC_AN_RESTART (1u << 12)
#define AUTOC_10G_SERIAL (3u << 13)
#define AUTOC_BACKPLANE	 (4u << 13 | 3u << 30) /**< KX/KX4/KR by negotiation */
#define R_LINKS		 0x042a4u
#define LINKS_KX_AN_COMP (1u << 31)
#define LINKS_UP	 (1u << 30)
#define LINKS_10G	 (3u << 28)
#define R_AUTOC2	 0x042a8u
#define AUTOC2_10G_SFI	 (2u << 16)
#define R_ANLP1		 0x042b0u
#define ANLP1_AN_STATE	 0x000f0000u

/* Security engine, 8.2.3.12: the driver waits for both directions to be ready. */
#define R_SECTXSTAT 0x08804u
#define R_SECRXSTAT 0x08d04u
#define SEC_READY   (1u << 0)

/* Flow director, 8.2.3.21 */
#define R_FDIRCTRL	   0x0ee00u
#define FDIRCTRL_PBALLOC   3u
#define FDIRCTRL_INIT_DONE (1u << 3)
#define FDIRCTRL_PERFECT   (1u << 4)
#define FDIRCTRL_REPORT	   (1u << 5 | 1u << 7)
#define R_FDIRSIPV4	   0x0ee18u
#define R_FDIRIPDA	   0x0ee1cu
#define R_FDIRPORT	   0x0ee20u
#define R_FDIRVLAN	   0x0ee24u
#define R_FDIRHASH	   0x0ee28u
#define R_FDIRCMD	   0x0ee2cu
#define FDIRCMD_CMD	   3u
#define FDIRCMD_ADD	   1u
#define FDIRCMD_REMOVE	   2u
#define FDIRCMD_QUERY	   3u
#define FDIRCMD_VALID	   (1u << 2)
#define FDIRCMD_UPDATE	   (1u << 3)
#define FDIRCMD_CLEARHT	   (1u << 8)
#define FDIRCMD_DROP	   (1u << 9)
#define R_FDIRFREE	   0x0ee38u
#define R_FDIRDIP4M	   0x0ee3cu
#define R_FDIRSIP4M	   0x0ee40u
#define R_FDIRTCPM	   0x0ee44u
#define R_FDIRUDPM	   0x0ee48u
#define R_FDIRUSTAT	   0x0ee50u
#define R_FDIRFSTAT	   0x0ee54u
#define R_FDIRMATCH	   0x0ee58u
#define R_FDIRMISS	   0x0ee5cu
#define R_FDIRHKEY	   0x0ee68u
#define R_FDIRSKEY	   0x0ee6cu
#define R_FDIRM		   0x0ee70u
#define FDIRM_VLANID	   (1u << 0)
#define FDIRM_VLANP	   (1u << 1)
#define FDIRM_L4P	   (1u << 3)
#define FDIRM_FLEX	   (1u << 4)
#define R_FDIRIP6M	   0x0ee74u
#define R_FDIRSCTPM	   0x0ee78u

/* Statistics, 8.2.3.23: 32 bits wide, a pair (low, high) where bytes are counted. */
#define R_MPC	   0x03fa0u /**< missed: the packet buffer was full */
#define R_PRC64	   0x0405cu /**< first of six size classes */
#define R_GPRC	   0x04074u
#define R_BPRC	   0x04078u
#define R_MPRC	   0x0407cu
#define R_GPTC	   0x04080u
#define R_GORC	   0x04088u
#define R_GOTC	   0x04090u
#define R_RUC	   0x040a4u
#define R_ROC	   0x040acu
#define R_TOR	   0x040c0u
#define R_TPR	   0x040d0u
#define R_TPT	   0x040d4u
#define R_PTC64	   0x040d8u /**< first of six size classes */
#define R_MPTC	   0x040f0u
#define R_BPTC	   0x040f4u
#define R_QPRC(i)  (0x01030u + (i)*0x40u)
#define R_QBRC(i)  (0x01034u + (i)*0x40u)
#define R_QPRDC(i) (0x01430u + (i)*0x40u)
#define R_QPTC(i)  (0x06030u + (i)*0x40u)
#define R_QBTC(i)  (0x08700u + (i)*8u)
#define R_RQSMR(i) (0x02300u + (i)*4u)
#define R_TQSM(i)  (0x08600u + (i)*4u)

#endif
