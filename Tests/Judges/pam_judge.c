/* Asks the real libpam. Standard input: lines "FOLDER SERVICE USER PHASE ANSWER FLAGS", PHASE being auth, account or
 * both; FOLDER "-" stands for the system's own folders, ANSWER is what a prompt is answered with ("-" for an empty
 * line), FLAGS a number for pam_authenticate. Arguments: modules that stay loaded.
 * Standard output: one line each, the code of the first call that did not succeed, "start N" where pam_start failed. */
#include <dlfcn.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const char *answer;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  struct pam_response *list = calloc(count, sizeof *list);
  if (!list) return PAM_BUF_ERR;
  for (int i = 0; i < count; i++) {
    int style = messages[i]->msg_style;
    if (style == PAM_PROMPT_ECHO_OFF || style == PAM_PROMPT_ECHO_ON) list[i].resp = strdup(answer);
  }
  *responses = list;
  return PAM_SUCCESS;
}

int main(int argc, char **argv) {
  static char line[8192], folder[4096], service[256], user[256], phase[32], reply[256];
  int flags;
  // libpam loads each module anew for each question, unless it is there already.
  for (int i = 1; i < argc; i++) dlopen(argv[i], RTLD_NOW | RTLD_NODELETE);
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "%4095s %255s %255s %31s %255s %d", folder, service, user, phase, reply, &flags) != 6) return 1;
    answer = strcmp(reply, "-") ? reply : "";
    // A stack that keeps libpam busy for ever ends this process by SIGPROF.
    struct itimerval limit = {.it_value = {.tv_usec = 100000}};
    setitimer(ITIMER_PROF, &limit, NULL);
    struct pam_conv conversation = {converse, NULL};
    pam_handle_t *handle = NULL;
    int code = strcmp(folder, "-") ? pam_start_confdir(service, user, &conversation, folder, &handle)
                                   : pam_start(service, user, &conversation, &handle);
    if (code != PAM_SUCCESS) {
      printf("start %d\n", code);
      fflush(stdout);
      continue;
    }
    if (strcmp(phase, "account")) code = pam_authenticate(handle, flags);
    if (code == PAM_SUCCESS && strcmp(phase, "auth")) code = pam_acct_mgmt(handle, flags);
    pam_end(handle, code);
    printf("%d\n", code);
    fflush(stdout);
  }
  return 0;
}
