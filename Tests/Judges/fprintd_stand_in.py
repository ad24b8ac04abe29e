"""Answers on a bus as fprintd does: `ADDRESS READER,… USER,…`. The user `refused` is nobody's to ask about."""

import sys

from gi.repository import Gio, GLib

address, readers, users = sys.argv[1], [r for r in sys.argv[2].split(",") if r], sys.argv[3].split(",")
NAME = "net.reactivated.Fprint"
INTERFACES = Gio.DBusNodeInfo.new_for_xml(
    f"""<node>
  <interface name="{NAME}.Manager"><method name="GetDevices"><arg type="ao" direction="out"/></method></interface>
  <interface name="{NAME}.Device">
    <method name="ListEnrolledFingers"><arg type="s" direction="in"/><arg type="as" direction="out"/></method>
  </interface>
</node>"""
).interfaces


def call(connection, sender, path, interface, method, arguments, invocation):
    if method == "GetDevices":
        invocation.return_value(GLib.Variant("(ao)", (readers,)))
    elif arguments[0] == "refused":
        invocation.return_dbus_error(f"{NAME}.Error.PermissionDenied", "no")
    elif arguments[0] in users:
        invocation.return_value(GLib.Variant("(as)", (["right-index-finger"],)))
    else:
        invocation.return_dbus_error(f"{NAME}.Error.NoEnrolledPrints", "none")


flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
connection = None
while connection is None:
    try:
        connection = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    except GLib.Error:
        GLib.usleep(50_000)
connection.register_object("/net/reactivated/Fprint/Manager", INTERFACES[0], call, None, None)
for reader in readers:
    connection.register_object(reader, INTERFACES[1], call, None, None)
Gio.bus_own_name_on_connection(connection, NAME, Gio.BusNameOwnerFlags.NONE, None, None)
GLib.MainLoop().run()
