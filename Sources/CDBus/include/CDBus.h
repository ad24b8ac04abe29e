/// The part of libdbus 1 that is used here, with its own names. The library itself is looked for at run time, and only when
/// somebody opens a connection: it brings seven others along, and most examinations need none of them.
#ifndef CDBUS_H
#define CDBUS_H
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef uint32_t dbus_bool_t;
typedef struct DBusConnection DBusConnection;
typedef struct DBusMessage DBusMessage;

/// As the library's binary interface has it: its callers own the memory.
typedef struct DBusError {
  const char *name;
  const char *message;
  unsigned int bits;
  void *padding;
} DBusError;

typedef struct DBusMessageIter {
  void *opaque1[2];
  uint32_t opaque2;
  int opaque3[9];
  void *opaque4[2];
} DBusMessageIter;

void dbus_error_init(DBusError *error);
void dbus_error_free(DBusError *error);

/// NULL too where there is no library.
DBusConnection *dbus_connection_open_private(const char *address, DBusError *error);
void dbus_connection_close(DBusConnection *connection);
void dbus_connection_unref(DBusConnection *connection);
void dbus_connection_set_exit_on_disconnect(DBusConnection *connection, dbus_bool_t exits);
dbus_bool_t dbus_connection_get_is_authenticated(DBusConnection *connection);
dbus_bool_t dbus_connection_read_write(DBusConnection *connection, int milliseconds);
DBusMessage *dbus_connection_send_with_reply_and_block(DBusConnection *connection, DBusMessage *message,
                                                       int milliseconds, DBusError *error);
dbus_bool_t dbus_bus_set_unique_name(DBusConnection *connection, const char *name);

DBusMessage *dbus_message_new_method_call(const char *destination, const char *path, const char *interface,
                                          const char *method);
void dbus_message_unref(DBusMessage *message);
void dbus_message_set_auto_start(DBusMessage *message, dbus_bool_t starts);

void dbus_message_iter_init_append(DBusMessage *message, DBusMessageIter *iterator);
dbus_bool_t dbus_message_iter_append_basic(DBusMessageIter *iterator, int type, const void *value);
dbus_bool_t dbus_message_iter_open_container(DBusMessageIter *iterator, int type, const char *signature,
                                             DBusMessageIter *inner);
dbus_bool_t dbus_message_iter_close_container(DBusMessageIter *iterator, DBusMessageIter *inner);

dbus_bool_t dbus_message_iter_init(DBusMessage *message, DBusMessageIter *iterator);
dbus_bool_t dbus_message_iter_next(DBusMessageIter *iterator);
int dbus_message_iter_get_arg_type(DBusMessageIter *iterator);
int dbus_message_iter_get_element_type(DBusMessageIter *iterator);
void dbus_message_iter_get_basic(DBusMessageIter *iterator, void *value);
void dbus_message_iter_recurse(DBusMessageIter *iterator, DBusMessageIter *inner);

#pragma GCC visibility pop
#endif
