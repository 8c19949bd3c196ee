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
#define CSR_W_REPEAT_COUNT__INDEX 0x4
#define CSR_W_REPEAT_COUNT__VALUE__SHIFT 0
#define CSR_W_REPEAT_COUNT__VALUE__SIZE 12
#define CSR_W_REPEAT_COUNT__VALUE__MASK 0xfff
#define CSR_W_COUNT_L__INDEX 0x60
#define CSR_W_COUNT_U__INDEX 0x61
#define CSR_S_TILE_ID__INDEX 0x3
#define CSR_W_FP_CTL__INDEX 0x102
#define CTXT_TOTAL 7
#define CTXT_WORKERS 6
