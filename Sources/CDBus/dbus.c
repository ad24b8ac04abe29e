#define _GNU_SOURCE
#include "CDBus.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static void *library;

static void load(void) { library = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL); }

static void *find(const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return library ? dlsym(library, name) : NULL;
}

/* The function of this name in the library; `otherwise` where there is none. */
#define FORWARD(type, name, parameters, arguments, otherwise) \
  type name parameters { \
    __typeof__(&name) function = (__typeof__(&name))find(#name); \
    if (function) return function arguments; \
    otherwise; \
  }

/* What has been set is read whether there is a library or not. */
FORWARD(void, dbus_error_init, (DBusError * e), (e), memset(e, 0, sizeof *e))
FORWARD(void, dbus_error_free, (DBusError * e), (e), )

FORWARD(DBusConnection *, dbus_connection_open_private, (const char *a, DBusError *e), (a, e), return NULL)
FORWARD(void, dbus_connection_close, (DBusConnection * c), (c), )
FORWARD(void, dbus_connection_unref, (DBusConnection * c), (c), )
FORWARD(void, dbus_connection_set_exit_on_disconnect, (DBusConnection * c, dbus_bool_t x), (c, x), )
FORWARD(dbus_bool_t, dbus_connection_get_is_authenticated, (DBusConnection * c), (c), return 0)
FORWARD(dbus_bool_t, dbus_connection_read_write, (DBusConnection * c, int t), (c, t), return 0)
FORWARD(DBusMessage *, dbus_connection_send_with_reply_and_block,
        (DBusConnection * c, DBusMessage *m, int t, DBusError *e), (c, m, t, e), return NULL)
FORWARD(dbus_bool_t, dbus_bus_set_unique_name, (DBusConnection * c, const char *n), (c, n), return 0)

FORWARD(DBusMessage *, dbus_message_new_method_call,
        (const char *d, const char *p, const char *i, const char *m), (d, p, i, m), return NULL)
FORWARD(void, dbus_message_unref, (DBusMessage * m), (m), )
FORWARD(void, dbus_message_set_auto_start, (DBusMessage * m, dbus_bool_t x), (m, x), )

FORWARD(void, dbus_message_iter_init_append, (DBusMessage * m, DBusMessageIter *i), (m, i), )
FORWARD(dbus_bool_t, dbus_message_iter_append_basic, (DBusMessageIter * i, int t, const void *v), (i, t, v), return 0)
FORWARD(dbus_bool_t, dbus_message_iter_open_container,
        (DBusMessageIter * i, int t, const char *s, DBusMessageIter *n), (i, t, s, n), return 0)
FORWARD(dbus_bool_t, dbus_message_iter_close_container, (DBusMessageIter * i, DBusMessageIter *n), (i, n), return 0)

FORWARD(dbus_bool_t, dbus_message_iter_init, (DBusMessage * m, DBusMessageIter *i), (m, i), return 0)
FORWARD(dbus_bool_t, dbus_message_iter_next, (DBusMessageIter * i), (i), return 0)
FORWARD(int, dbus_message_iter_get_arg_type, (DBusMessageIter * i), (i), return 0)
FORWARD(int, dbus_message_iter_get_element_type, (DBusMessageIter * i), (i), return 0)
FORWARD(void, dbus_message_iter_get_basic, (DBusMessageIter * i, void *v), (i, v), )
FORWARD(void, dbus_message_iter_recurse, (DBusMessageIter * i, DBusMessageIter *n), (i, n), )
