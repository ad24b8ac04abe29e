/* A plugin for mosquitto that writes down every message the broker takes from a client, before the broker acknowledges
 * it: what a kill -9 takes from the broker's memory is still in the file. Option `file`: where to append.
 * One line each: milliseconds since the epoch, client id, QoS, retain, topic, payload (other bytes than visible ASCII
 * as '?'). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>

static int file = -1;

static int take(int event, void *data, void *context) {
  (void)event, (void)context;
  const struct mosquitto_evt_message *message = data;
  const char *client = mosquitto_client_id(message->client);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char *line = NULL;
  int head = asprintf(&line, "%lld %s %d %d %s ", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000,
    client && *client ? client : "-", message->qos, message->retain, message->topic);
  char *whole = head < 0 ? NULL : realloc(line, head + message->payloadlen + 1);
  if (!whole) return MOSQ_ERR_NOMEM;
  const unsigned char *payload = message->payload;
  for (uint32_t i = 0; i < message->payloadlen; i++)
    whole[head + i] = payload[i] > 0x20 && payload[i] < 0x7F ? (char)payload[i] : '?';
  whole[head + message->payloadlen] = '\n';
  ssize_t size = head + (ssize_t)message->payloadlen + 1;
  int isWritten = write(file, whole, size) == size;
  free(whole);
  return isWritten ? MOSQ_ERR_SUCCESS : MOSQ_ERR_UNKNOWN;
}

int mosquitto_plugin_version(int count, const int *versions) {
  for (int i = 0; i < count; i++)
    if (versions[i] == 5) return 5;
  return -1;
}

int mosquitto_plugin_init(mosquitto_plugin_id_t *id, void **data, struct mosquitto_opt *options, int count) {
  (void)data;
  for (int i = 0; i < count; i++)
    if (!strcmp(options[i].key, "file")) file = open(options[i].value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return file < 0 ? MOSQ_ERR_UNKNOWN : mosquitto_callback_register(id, MOSQ_EVT_MESSAGE, take, NULL, NULL);
}

int mosquitto_plugin_cleanup(void *data, struct mosquitto_opt *options, int count) {
  (void)data, (void)options, (void)count;
  return MOSQ_ERR_SUCCESS;
}
