/* Numbers of a worker's registers that codelets name, and of bits in them. */
#pragma once

#define CSR_W_WSR__INDEX 0x1
#define CSR_W_WSR__CTXTID_M1__SHIFT 0
#define CSR_W_WSR__CTXTID_M1__SIZE 3
#define CSR_W_WSR__CTXTID_M1__MASK 0x7
#define CSR_W_FP_CLR__INDEX 0x101
#define CSR_W_FP_CLR__ZAACC__SHIFT 3
#define CSR_W_FP_CLR__ZAACC__MASK 0x1
#define CSR_W_TAS__INDEX 0x108
#define CSR_S_SCOUNT_L__INDEX 0x60
#define CSR_S_SCOUNT_U__INDEX 0x61
#define CSR_S_CCCSLOAD__INDEX 0x50
#define TEXCH_SYNCZONE_LOCAL 0x2
#define CTXT_WORKERS 6
