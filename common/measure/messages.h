/* measure/messages.h - latency and bandwidth of messages between two ranks. */
#ifndef RT_MESSAGES_H
#define RT_MESSAGES_H

/* Measures a ping-pong of ranks 0 and 1: half a round trip of 8 bytes in seconds, and the bytes per
 * second of 1 MiB. Both are 0 with one rank. Collective. */
void rt_messages_measure(double *latency, double *bandwidth);

#endif
