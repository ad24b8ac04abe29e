internal import Posture
