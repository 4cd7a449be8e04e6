/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Orders of the simulator to write bytes: frames of a video, packets of audio. */
#ifndef PACELINE_ORDERS_H
#define PACELINE_ORDERS_H

#include "loop.h"

/* Listens for orders on the device with this index, if a connection is ORDERED. */
void open_orders(int index);
/* Carries out the orders that have arrived. */
void read_orders(void);

#endif
